// Chromium without a window.

import { chromium } from 'playwright-core';

// The browser of the system; root, as in a container, has no sandbox.
export function openBrowser() {
  const isRoot = process.getuid() === 0;
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: isRoot ? ['--no-sandbox'] : [],
  });
}
