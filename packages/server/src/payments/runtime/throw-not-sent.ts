// The refusal of a request that the platform stored, but did not send to the acquirer.
import { type ProblemOptions, throwProblem } from '@switchyard/contract';

export function throwNotSent(
  idMember: 'clientTransactionId' | 'clientOperationId',
  options?: ProblemOptions,
): never {
  return throwProblem(
    'not_sent',
    `The platform did not send this request to the acquirer. Send it again with a new ${idMember}. If this error repeats, the operator finds the reason in the log.`,
    options,
  );
}
