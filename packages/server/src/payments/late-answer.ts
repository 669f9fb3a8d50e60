// An answer after its time is recorded; whatever it says, the reversal stands.
import type { LateAnswer } from '../acquiring/index.ts';
import type { PaymentsDeps } from './deps.ts';
import { changeOf } from './step.ts';

const triesMax = 20;

async function record(deps: PaymentsDeps, late: LateAnswer): Promise<void> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const loaded = await deps.store.findById(late.organizationId, late.transactionId);
    if (loaded === undefined) return;
    const change = changeOf(loaded.row, {
      at: deps.clock.now(),
      type: 'transaction.late_response',
      changes: {},
      data: { response: { code: late.responseCode }, reason: late.kind },
    });
    if (await deps.store.commit(change)) return;
  }
  throw new Error('a late answer could not be recorded');
}

export function recordLateAnswer(deps: PaymentsDeps, late: LateAnswer): void {
  record(deps, late).catch((error: unknown) => {
    deps.log.error({ err: error, transactionId: late.transactionId }, 'a late answer is lost');
  });
}
