// An answer after its time is recorded; whatever it says, the reversal stands.
import type { LateAnswer } from '../acquiring/index.ts';
import { isApprovalOfSale } from './approved-at-host.ts';
import type { PaymentsDeps } from './deps.ts';
import { reverseAgain } from './reversal.ts';
import { after, changeOf } from './step.ts';
import { alarmLateContradiction } from './unanswered.ts';

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
    if (!(await deps.store.commit(change))) continue;
    alarmLateContradiction(deps, loaded, late);
    // Its reversal has ended and may have come first: an approval behind it is taken back again.
    if (isApprovalOfSale(late.kind, late.responseCode)) {
      const of = { approvedAtHost: true };
      await reverseAgain(deps, after(loaded, change), 'LateApproval', of);
    }
    return;
  }
  throw new Error('a late answer could not be recorded');
}

export function recordLateAnswer(deps: PaymentsDeps, late: LateAnswer): void {
  record(deps, late).catch((error: unknown) => {
    deps.log.error({ err: error, transactionId: late.transactionId }, 'a late answer is lost');
  });
}
