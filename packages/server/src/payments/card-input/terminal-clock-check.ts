// Counts chip sales with a wrong terminal date, so that operators see wrong clocks.
import type { Clock, Metrics } from '../../platform/index.ts';

const dayMs = 86_400_000;
/** Time zones differ by up to a day, and midnight may pass before the request arrives. */
const toleranceDays = 2;

/**
 * A wrong date does not refuse the sale: the issuer verifies the data that the chip signed.
 *
 * @example createTerminalClockCheck({ clock, metrics }).checkDate('261122');
 */
export function createTerminalClockCheck({ clock, metrics }: { clock: Clock; metrics: Metrics }) {
  const deviationCounter = metrics.counter({
    name: 'switchyard_terminal_clock_wrong_total',
    help: 'Chip sales whose terminal date differs by more than two days',
  });
  return {
    /** @param date YYMMDD */
    checkDate(date: string | undefined): boolean {
      if (date === undefined) return true;
      const isoDate = `20${date.slice(0, 2)}-${date.slice(2, 4)}-${date.slice(4)}`;
      const day = Date.parse(`${isoDate}T12:00:00Z`);
      const isNear = Math.abs(clock.now() - day) <= toleranceDays * dayMs;
      if (!isNear) deviationCounter.inc();
      return isNear;
    },
  };
}

export type TerminalClockCheck = ReturnType<typeof createTerminalClockCheck>;
