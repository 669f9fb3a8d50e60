/** Why a service of the terminal did not succeed: the error condition of its response. */
import type { OpenValue } from '@switchyard/nexo';

export class ServiceFault extends Error {
  readonly condition: OpenValue<'ErrorCondition'>;
  /** For logs and people. */
  readonly additional: string | undefined;
  readonly transactionId: string | undefined;

  constructor(condition: OpenValue<'ErrorCondition'>, additional?: string, transactionId?: string) {
    super(`${condition} ${additional ?? ''}`);
    this.name = 'ServiceFault';
    this.condition = condition;
    this.additional = additional;
    this.transactionId = transactionId;
  }
}
