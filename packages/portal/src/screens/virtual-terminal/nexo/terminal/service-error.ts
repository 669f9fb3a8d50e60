/** The error of a terminal service, with the error condition of its response. */
import type { OpenValue, RefusalReason } from '@switchyard/nexo';

export class ServiceError extends Error {
  readonly condition: OpenValue<'ErrorCondition'>;
  /** The `refusalReason` of `AdditionalResponse`. */
  readonly additional: RefusalReason | undefined;
  readonly transactionId: string | undefined;

  constructor(
    condition: OpenValue<'ErrorCondition'>,
    additional?: RefusalReason,
    transactionId?: string,
  ) {
    super(`${condition} ${additional ?? ''}`);
    this.name = 'ServiceFault';
    this.condition = condition;
    this.additional = additional;
    this.transactionId = transactionId;
  }
}
