// The settings of what a process takes on: part of the one table.
import { integer } from './setting-values.ts';

export const loadSettings = {
  loopDelayMs: {
    ...integer(50, 60_000),
    name: 'LOOP_DELAY_MS',
    description:
      'How late a turn of the event loop may come, twice on end, until sales are refused as `overloaded`: reports are at two fifths of it, lists at three, what ends a payment at three times as much. More for a machine whose processor others use.',
    default: '400',
  },
};
