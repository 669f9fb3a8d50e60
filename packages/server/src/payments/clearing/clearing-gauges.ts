// Gauges of unacknowledged clearing files and of captures that wait for a file.
import { type Clock, isoTime, type Metrics } from '../../platform/index.ts';
import { elapsedSeconds, registerLinkGauges } from '../runtime/register-link-gauges.ts';
import type { ClearingStore, LinkBacklogSample } from './clearing-sql.ts';

export function registerClearingGauges({
  clearing,
  metrics,
  clock,
}: {
  clearing: Pick<ClearingStore, 'countOpenFiles' | 'countDueLines'>;
  metrics: Metrics;
  clock: Clock;
}): void {
  const count = (sample: LinkBacklogSample) => sample.count;
  const age = ({ oldestAt }: LinkBacklogSample) =>
    elapsedSeconds(oldestAt.toISOString(), clock.now());
  registerLinkGauges(
    metrics,
    'clearing_files',
    {
      unacknowledged: {
        help: 'Clearing files of an acquirer link without an acknowledgement',
        value: count,
      },
      oldest_seconds: {
        help: 'Age of the oldest unacknowledged clearing file of an acquirer link, in seconds',
        value: age,
      },
    },
    clearing.countOpenFiles,
  );
  registerLinkGauges(
    metrics,
    'clearing_lines',
    {
      due: {
        help: 'Captures of past settlement days that are in no clearing file',
        value: count,
      },
      oldest_seconds: {
        help: 'Seconds since the end of the settlement day of the oldest such capture',
        value: age,
      },
    },
    () => clearing.countDueLines(isoTime(clock.now())),
  );
}
