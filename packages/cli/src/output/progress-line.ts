/** Tells how long work comes along: one changing line on a terminal, now and then a plain line elsewhere. */
import type { Clock } from '../runtime/clock.ts';
import type { Terminal } from '../runtime/runtime-environment.ts';

export type Progress = {
  step(done: number, total?: number): void;
  /** Removes the changing line, so that what follows stands alone. */
  end(): void;
};

const redrawMs = 100;
const plainMs = 3_000;

export function createProgress(stderr: Terminal, clock: Clock, label: string): Progress {
  const live = stderr.isTTY === true;
  let toldAt = live ? 0 : clock.now();
  let drawn = false;
  return {
    step(done, total) {
      const now = clock.now();
      if (now - toldAt < (live ? redrawMs : plainMs)) return;
      toldAt = now;
      const share =
        total === undefined || total === 0 ? '' : ` (${Math.floor((done * 100) / total)} %)`;
      const text = `${label}: ${done}${total === undefined ? '' : ` of ${total}`}${share}`;
      stderr.write(live ? `\r\u001b[2K${text}` : `${text}\n`);
      drawn = live;
    },
    end() {
      if (drawn) stderr.write('\r\u001b[2K');
      drawn = false;
    },
  };
}
