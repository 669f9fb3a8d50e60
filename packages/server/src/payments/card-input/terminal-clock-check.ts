// Counts chip sales with a wrong terminal date, so that operators see wrong clocks.
import type { Clock, Metrics } from '../../platform/index.ts';

export type TerminalClockCheck = {
  /** Takes the date of a chip sale, YYMMDD; whether it is near this moment. */
  checkDate(date: string | undefined): boolean;
};

const dayMs = 86_400_000;
/** Time zones are a day apart, and midnight may have passed on the way. */
const toleranceDays = 2;

/**
 * The sale goes on whatever the date is: the issuer judges what the chip signed, and a merchant
 * with a wrong clock must not lose sales by it.
 *
 * @example const clock = createTerminalClock({ clock, metrics }); clock.note('261122');
 */
export function createTerminalClockCheck({
  clock,
  metrics,
}: {
  clock: Clock;
  metrics: Metrics;
}): TerminalClockCheck {
  const deviationCounter = metrics.counter({
    name: 'switchyard_terminal_clock_wrong_total',
    help: 'Chip sales whose terminal date differs by more than two days',
  });
  return {
    checkDate(date) {
      if (date === undefined) return true;
      const day = Date.parse(
        `20${date.slice(0, 2)}-${date.slice(2, 4)}-${date.slice(4)}T12:00:00Z`,
      );
      const isNear = Math.abs(clock.now() - day) <= toleranceDays * dayMs;
      if (!isNear) deviationCounter.inc();
      return isNear;
    },
  };
}
