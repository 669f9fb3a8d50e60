// What must not be lost because the database restarts: tried again until it is back, or time is over.
import { Refusal } from '@switchyard/contract';
import { pause } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';

const againMs = 100;
const passing: ReadonlySet<string> = new Set(['database_unavailable', 'overloaded']);

/**
 * @param until epoch ms from which on the failure is thrown
 * @param work may be done a second time though the first try has come through
 */
export async function outlast<T>(
  { clock }: Pick<PaymentsDeps, 'clock'>,
  until: number,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const mayPass = error instanceof Refusal && passing.has(error.code);
      if (!mayPass || clock.now() >= until) throw error;
      await pause(againMs);
    }
  }
}
