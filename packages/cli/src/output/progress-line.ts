/** Progress on stderr: one updated line on a terminal, otherwise a line every few seconds. */
import type { Clock } from '../runtime/clock.ts';
import type { Terminal } from '../runtime/runtime-environment.ts';

export type Progress = {
  step(done: number, total?: number): void;
  /** Clears the updated line. */
  end(): void;
};

const redrawMs = 100;
const plainMs = 3_000;

export function createProgress(stderr: Terminal, clock: Clock, label: string): Progress {
  const isTerminal = stderr.isTTY === true;
  let writtenAt = isTerminal ? 0 : clock.now();
  let isDrawn = false;
  return {
    step(done, total) {
      const now = clock.now();
      if (now - writtenAt < (isTerminal ? redrawMs : plainMs)) return;
      writtenAt = now;
      const share =
        total === undefined || total === 0 ? '' : ` (${Math.floor((done * 100) / total)} %)`;
      const text = `${label}: ${done}${total === undefined ? '' : ` of ${total}`}${share}`;
      stderr.write(isTerminal ? `\r\u001b[2K${text}` : `${text}\n`);
      isDrawn = isTerminal;
    },
    end() {
      if (isDrawn) stderr.write('\r\u001b[2K');
      isDrawn = false;
    },
  };
}
