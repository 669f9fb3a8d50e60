// A fake platform for tests of the terminal; it counts the captured amounts.
import { randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import type { PlatformAnswer, TerminalPlatform } from './payments-api.ts';

type Body = Readonly<Record<string, unknown>>;
type Row = { body: Body; state: string; refunded: number; transactionId: string };

/** How it behaves at the next operation; `LosesAnswer` does it. */
export type OperationBehaviour = 'LosesAnswer' | 'NeverGets' | 'NotSent' | 'InProgress';

/** How the platform behaves at the next sale. */
export type SaleBehaviour =
  | 'Approves'
  | 'Declines'
  | 'AsksPin'
  | 'RequiresChip'
  | 'TakesHalf'
  | 'LosesAnswer'
  | 'NeverGets'
  | 'WrongPin'
  | 'KsnReused'
  | 'Refuses';

const at = '2026-03-01T10:00:00.000Z';

export function createFakePlatform() {
  const rows = new Map<string, Row>();
  const behaviours: SaleBehaviour[] = [];
  const sold: Body[] = [];
  const operations: string[] = [];
  const comingOperations: OperationBehaviour[] = [];
  /** Answers by operation identifier: the same request gets the same answer. */
  const done = new Map<string, PlatformAnswer>();
  let refunds: 'NeedsApproval' | 'Declines' | undefined;
  let isStuck = false;
  let isUp = true;
  let isElsewhere = false;

  const view = (row: Row, response: object = {}): PlatformAnswer => {
    const { body, state, transactionId } = row;
    const approved = ['Captured', 'Authorized', 'PartiallyRefunded', 'Refunded'].includes(state);
    const amount = Number(body['amount']);
    const authorizedAmount = Number(body['authorizedAmount'] ?? (approved ? amount : 0));
    const copy = {
      merchantName: 'Café',
      at,
      operation: 'Sale',
      amount,
      currency: body['currency'],
      amountText: `${amount} ${body['currency']}`,
      entryMode: body['entryMode'],
      maskedNumber: '541333******0012',
      terminalId: 'T1',
      responseText: state,
    };
    return {
      outcome: 'Answered',
      transaction: {
        transactionId,
        clientTransactionId: body['clientTransactionId'],
        state,
        approved,
        amount,
        currency: body['currency'],
        authorizedAmount,
        createdAt: at,
        updatedAt: at,
        authorizationCode: '123456',
        card: { scheme: 'Mastercard', maskedNumber: copy.maskedNumber },
        receipt: { merchant: copy, cardholder: copy },
        operations: [],
        ...response,
      },
    } as unknown as PlatformAnswer;
  };

  const findRow = (id: string) =>
    isElsewhere
      ? undefined
      : (rows.get(id) ?? [...rows.values()].find(({ transactionId }) => transactionId === id));

  function sell(body: Body): Promise<PlatformAnswer> {
    if (!isUp) return Promise.resolve({ outcome: 'NotSent' });
    const id = String(body['clientTransactionId']);
    const existing = rows.get(id);
    if (existing !== undefined) return Promise.resolve(view(existing));
    const behaviour = behaviours.shift() ?? 'Approves';
    if (behaviour === 'NeverGets') return Promise.resolve({ outcome: 'Unknown' });
    if (behaviour === 'Refuses') {
      return Promise.resolve({ outcome: 'Refused', status: 422, code: 'merchant_not_active' });
    }
    sold.push(body);
    if (behaviour === 'KsnReused') {
      return Promise.resolve({ outcome: 'Refused', status: 422, code: 'ksn_reused' });
    }
    const isDeclined = ['Declines', 'AsksPin', 'RequiresChip', 'WrongPin'].includes(behaviour);
    const isReserved = body['captureMode'] === 'Deferred';
    const row: Row = {
      body:
        behaviour === 'TakesHalf'
          ? { ...body, authorizedAmount: Math.floor(Number(body['amount']) / 2) }
          : body,
      state: isDeclined ? 'Declined' : isReserved ? 'Authorized' : 'Captured',
      refunded: 0,
      transactionId: randomUUID(),
    };
    rows.set(id, row);
    if (behaviour === 'LosesAnswer') return Promise.resolve({ outcome: 'Unknown' });
    const reasons = {
      Declines: { category: 'SoftDecline', code: '51', reason: 'InsufficientFunds' },
      AsksPin: { category: 'SoftDecline', code: '65', reason: 'PinOrChipRequired' },
      RequiresChip: { category: 'SoftDecline', code: '65', reason: 'PinOrChipRequired' },
      WrongPin: { category: 'SoftDecline', code: '55', reason: 'InvalidPin' },
    } as const;
    const response = reasons[behaviour as keyof typeof reasons];
    return Promise.resolve(
      view(row, {
        ...defined({ response }),
        ...(isDeclined && behaviour !== 'Declines'
          ? { terminalAction: behaviour === 'RequiresChip' ? 'UseChip' : 'AskPin' }
          : {}),
      }),
    );
  }

  const merchant = () => (isElsewhere ? 'another' : 'mine');
  const notFound = (): PlatformAnswer => ({
    outcome: 'Refused',
    status: 404,
    code: 'transaction_not_found',
    merchant: merchant(),
  });

  function operate(id: string, verb: string, body: Body): Promise<PlatformAnswer> {
    if (!isUp) return Promise.resolve({ outcome: 'NotSent' });
    const behaviour = comingOperations.shift();
    if (behaviour === 'NotSent') return Promise.resolve({ outcome: 'NotSent' });
    if (behaviour === 'NeverGets') return Promise.resolve({ outcome: 'Unknown' });
    if (behaviour === 'InProgress') {
      const refusal = { status: 409, code: 'transaction_in_progress', isRetryable: true } as const;
      return Promise.resolve({ outcome: 'Refused', ...refusal });
    }
    const clientKey = `${verb} ${String(body['clientOperationId'])}`;
    operations.push(clientKey);
    const earlierAnswer = isElsewhere ? undefined : done.get(clientKey);
    if (earlierAnswer !== undefined) return Promise.resolve(earlierAnswer);
    const row = findRow(id);
    if (row === undefined) {
      return Promise.resolve(notFound());
    }
    // As at the platform, a captured sale cannot be cancelled.
    if (verb === 'cancel' && row.state === 'Captured') {
      return Promise.resolve({ outcome: 'Refused', status: 409, code: 'already_captured' });
    }
    if (verb === 'refund' && refunds === 'NeedsApproval') {
      return Promise.resolve({ outcome: 'Refused', status: 422, code: 'approval_code_required' });
    }
    if (verb === 'refund' && refunds === 'Declines') {
      const declined = view(row, { operation: { status: 'Declined', createdAt: at, kind: verb } });
      done.set(clientKey, declined);
      return Promise.resolve(declined);
    }
    row.state = verb === 'capture' ? 'Captured' : verb === 'refund' ? 'Refunded' : 'Cancelled';
    const amount = Number(body['amount'] ?? row.body['amount']);
    row.refunded += verb === 'refund' ? amount : 0;
    const operationId = randomUUID();
    const facts = { operationId, status: 'Succeeded', amount, createdAt: at, kind: verb };
    const answer = view(row, { operation: facts });
    done.set(clientKey, answer);
    // Simulates a power loss before the answer.
    if (isStuck) return new Promise(() => {});
    return Promise.resolve(behaviour === 'LosesAnswer' ? { outcome: 'Unknown' } : answer);
  }

  const platform: TerminalPlatform = {
    merchant: () => Promise.resolve(isUp ? merchant() : undefined),
    processSale: sell,
    operate,
    findTransaction(id) {
      if (!isUp) return Promise.resolve({ outcome: 'NotSent' });
      const row = findRow(id);
      return Promise.resolve(row === undefined ? notFound() : view(row));
    },
    findUndoOperation: (id) =>
      Promise.resolve(findRow(id)?.state === 'Captured' ? 'refund' : 'cancel'),
    isAvailable: () => Promise.resolve(isUp),
    close: () => undefined,
  };
  return {
    platform,
    sold,
    rows,
    operations,
    setRefunds: (how: typeof refunds) => {
      refunds = how;
    },
    /** Operations are performed, and their answers are never sent. */
    setStuck: (stuck: boolean) => {
      isStuck = stuck;
    },
    /** The terminal belongs to another merchant, which does not see these sales. */
    setElsewhere: (elsewhere: boolean) => {
      isElsewhere = elsewhere;
    },
    next: (...coming: SaleBehaviour[]) => void behaviours.push(...coming),
    nextOperations: (...coming: OperationBehaviour[]) => void comingOperations.push(...coming),
    /** Refunded amount, in minor units. */
    refunded: () => [...rows.values()].reduce((sum, row) => sum + row.refunded, 0),
    setUp: (up: boolean) => {
      isUp = up;
    },
    /** Captured and authorized amount, in minor units. */
    taken: () =>
      [...rows.values()]
        .filter(({ state }) => state === 'Captured' || state === 'Authorized')
        .reduce((sum, { body }) => sum + Number(body['authorizedAmount'] ?? body['amount']), 0),
  };
}
