// Asks people, without an echo of what nobody may read over their shoulder.
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

export type Terminal = {
  /** The next line; `hidden` leaves no trace of it on the screen. */
  ask(question: string, hidden: boolean): Promise<string>;
  /** To standard output. */
  print(text: string): void;
  /** To standard error. */
  warn(text: string): void;
  close(): void;
};

/** What readline echoes goes through here: while something is hidden, nowhere. */
function mutable(): { stream: Writable; mute(isMuted: boolean): void } {
  let muted = false;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!muted) process.stderr.write(chunk);
      done();
    },
  });
  return {
    stream,
    mute(isMuted) {
      muted = isMuted;
    },
  };
}

/** @example const terminal = openTerminal(); */
export function openTerminal(): Terminal {
  const output = mutable();
  const lines: string[] = [];
  const waiting: ((line: string | undefined) => void)[] = [];
  let opened: Interface | undefined;
  let ended = false;

  function open(): void {
    if (opened !== undefined) return;
    const terminal = process.stdin.isTTY === true;
    opened = createInterface({ input: process.stdin, output: output.stream, terminal });
    opened.on('line', (line) => {
      const next = waiting.shift();
      if (next === undefined) lines.push(line);
      else next(line);
    });
    opened.on('close', () => {
      ended = true;
      for (const next of waiting.splice(0)) next(undefined);
    });
  }

  function nextLine(): Promise<string | undefined> {
    const line = lines.shift();
    if (line !== undefined || ended) return Promise.resolve(line);
    return new Promise((resolve) => waiting.push(resolve));
  }

  return {
    async ask(question, hidden) {
      open();
      process.stderr.write(`${question}: `);
      output.mute(hidden);
      const line = await nextLine();
      output.mute(false);
      if (hidden || process.stdin.isTTY !== true) process.stderr.write('\n');
      if (line === undefined) throw new Error('the input ended');
      return line.trim();
    },
    print: (text) => void process.stdout.write(text),
    warn: (text) => void process.stderr.write(text),
    close: () => opened?.close(),
  };
}
