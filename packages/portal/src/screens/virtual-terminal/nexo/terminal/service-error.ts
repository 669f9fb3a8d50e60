/** Why a service of the terminal did not succeed: the error condition of its response. */
import type { OpenValue, RefusalReason } from '@switchyard/nexo';

export class ServiceFault extends Error {
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
