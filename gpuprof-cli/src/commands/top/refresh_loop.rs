//! The terminal: refreshes and keys until the user quits.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use gpuprof_report::live::Changes;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::ending;
use super::screen::{self, ScreenState, View};
use super::top_model::{TopModel, TopSort, interval};
use crate::live::{LiveError, ProgramConnection};
use crate::output::{Exit, complain};

/// How long keys are waited for before it is looked for an answer.
const TICK: Duration = Duration::from_millis(100);

/// The exit code after a signal or a hang-up.
const KILLED: u8 = 1;

/// Rows that a page key scrolls by.
const PAGE: usize = 10;

/// Shows the program until the user quits.
pub(super) fn run(connection: ProgramConnection, sort: TopSort) -> Exit {
    if !io::stdout().is_terminal() {
        complain("standard output is no terminal: add --once to print one refresh as text");
        return Exit::BadInput;
    }
    let model = TopModel::new(&connection);
    let answers = ask(connection);
    let is_over = Arc::new(AtomicBool::new(false));
    let watched = ending::watch(Arc::clone(&is_over), KILLED)
        .and_then(|()| ratatui::try_init())
        .and_then(|mut terminal| watch(&mut terminal, model, sort, &answers, &is_over));
    ending::restore_terminal();
    match watched {
        Ok(()) if is_over.load(Relaxed) => Exit::Program(KILLED),
        Ok(()) => Exit::Success,
        Err(error) => {
            complain(format_args!("the terminal cannot be used: {error}"));
            Exit::BadInput
        }
    }
}

/// Asks on a thread of its own: keys work while an answer takes long.
fn ask(mut connection: ProgramConnection) -> Receiver<Result<Changes, LiveError>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        loop {
            let answer = connection.changes();
            let pause = match &answer {
                Ok(changes) => Some(interval(changes.next_ms)),
                // Its measurements are locked at present.
                Err(LiveError::Refused(_)) => Some(interval(0)),
                Err(_) => None,
            };
            // The receiver is gone if the user has quit.
            let is_sent = sender.send(answer).is_ok();
            match pause.filter(|_| is_sent) {
                Some(pause) => thread::sleep(pause),
                None => return,
            }
        }
    });
    receiver
}

fn watch(
    terminal: &mut DefaultTerminal,
    mut model: TopModel,
    sort: TopSort,
    answers: &Receiver<Result<Changes, LiveError>>,
    is_over: &AtomicBool,
) -> io::Result<()> {
    let mut choice = ScreenState {
        view: View::Functions,
        sort,
        offset: 0,
        is_paused: false,
    };
    // The model goes on while the screen is paused: only changes are sent.
    let mut frozen: Option<TopModel> = None;
    let mut ended: Option<String> = None;
    while !is_over.load(Relaxed) {
        while let Ok(answer) = answers.try_recv() {
            match answer {
                Ok(changes) => {
                    model.apply(changes);
                    ended = None;
                }
                Err(error) => ended = Some(error.to_string()),
            }
        }
        let shown = frozen.as_ref().unwrap_or(&model);
        terminal.draw(|frame| screen::draw(frame, shown, &mut choice, ended.as_deref()))?;
        if !event::poll(TICK)? {
            continue;
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        if !press(key, &mut choice) {
            return Ok(());
        }
        frozen = match (choice.is_paused, frozen) {
            (true, None) => Some(model.clone()),
            (true, frozen) => frozen,
            (false, _) => None,
        };
    }
    Ok(())
}

/// Changes the choice. Returns whether to go on.
fn press(key: KeyEvent, choice: &mut ScreenState) -> bool {
    if key.kind == KeyEventKind::Release {
        return true;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let mut view = |view| (choice.view, choice.offset) = (view, 0);
    match key.code {
        KeyCode::Char('c') if is_control => return false,
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('t') => choice.sort = TopSort::Gpu,
        KeyCode::Char('u') => choice.sort = TopSort::Cpu,
        KeyCode::Char('c') => choice.sort = TopSort::Calls,
        KeyCode::Char('r') => choice.sort = TopSort::Rate,
        KeyCode::Char('n') => choice.sort = TopSort::Name,
        KeyCode::Char('f') => view(View::Functions),
        KeyCode::Char('p') => view(View::Threads),
        KeyCode::Char('d') => view(View::Devices),
        KeyCode::Char(' ') => choice.is_paused = !choice.is_paused,
        KeyCode::Up | KeyCode::Char('k') => choice.offset = choice.offset.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => choice.offset += 1,
        KeyCode::PageUp => choice.offset = choice.offset.saturating_sub(PAGE),
        KeyCode::PageDown => choice.offset += PAGE,
        KeyCode::Home => choice.offset = 0,
        _ => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_choose_pause_and_quit() {
        let mut choice = ScreenState {
            view: View::Functions,
            sort: TopSort::Gpu,
            offset: 5,
            is_paused: false,
        };
        let mut key = |code| press(KeyEvent::new(code, KeyModifiers::NONE), &mut choice);
        for code in ['c', 'p', ' '] {
            assert!(key(KeyCode::Char(code)));
        }
        assert!(key(KeyCode::Down));
        assert!(!key(KeyCode::Char('q')));
        assert_eq!((choice.sort, choice.view), (TopSort::Calls, View::Threads));
        assert_eq!((choice.offset, choice.is_paused), (1, true));
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(!press(control_c, &mut choice));
    }
}
