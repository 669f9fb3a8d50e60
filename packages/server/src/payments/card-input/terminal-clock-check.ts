// Watches the dates that terminals give to chips: a clock that is wrong is told to the operator.
import type { Clock, Metrics } from '../../platform/index.ts';

export type TerminalClock = {
  /** Takes the date of a chip sale, YYMMDD; whether it is near this moment. */
  note(date: string | undefined): boolean;
};

const dayMs = 86_400_000;
/** Time zones are a day apart, and midnight may have passed on the way. */
const nearDays = 2;

/**
 * The sale goes on whatever the date is: the issuer judges what the chip signed, and a merchant
 * with a wrong clock must not lose sales by it.
 *
 * @example const clock = createTerminalClock({ clock, metrics }); clock.note('261122');
 */
export function createTerminalClock({
  clock,
  metrics,
}: {
  clock: Clock;
  metrics: Metrics;
}): TerminalClock {
  const wrong = metrics.counter({
    name: 'switchyard_terminal_clock_wrong_total',
    help: 'Chip sales whose terminal gave a date that is far from the day',
  });
  return {
    note(date) {
      if (date === undefined) return true;
      const day = Date.parse(
        `20${date.slice(0, 2)}-${date.slice(2, 4)}-${date.slice(4)}T12:00:00Z`,
      );
      const isNear = Math.abs(clock.now() - day) <= nearDays * dayMs;
      if (!isNear) wrong.inc();
      return isNear;
    },
  };
}
