import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined, Refusal } from '@switchyard/contract';
import { dueClockOf } from '../../../test/movable-clock.ts';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { zeroAmounts } from '../transaction/state-machine.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type StoredEvent,
  type TransactionRow,
} from '../transaction/transaction.ts';
import { sendWithFailover } from './acquirer-failover.ts';
import type { SaleIntent } from './authorize-sale.ts';

const context = {
  kind: 'Authorization',
  linkId: 'first',
  merchantNumber: 'M1',
  mcc: '5411',
  timeZone: 'UTC',
  holdDays: 30,
  captureTransport: 'File',
  reference: { stan: '000001' },
} as unknown as AuthorizationContext;

const contract = (name: string) =>
  ({
    contractId: `contract ${name}`,
    acquirerLink: name,
    acquirerMerchantId: `M ${name}`,
    mcc: '5812',
    terminalIdRange: { from: 'A0000001', to: 'A0000009' },
    overCapturePercent: 10,
    holdDays: 7,
    cutOverTime: '22:00',
    captureTransport: 'Advice',
  }) as unknown as AcquirerContract;

function intentOf(sensitive?: object): SaleIntent {
  return {
    request: { amount: 1000 },
    card: { pan: '4111111111111111', ...defined({ sensitive }) },
    context,
    failoverContracts: [contract('second'), contract('third')],
    transaction: {
      row: {
        organizationId: 'o',
        transactionId: 't',
        contractId: 'contract first',
        amount: 1000,
        overCapture: 0,
        version: 1,
        deadline: 20_000,
        position: { ...zeroAmounts, phase: 'Received' },
      },
      events: [{ sequence: 1, type: 'transaction.received', at: '', data: { facts: context } }],
      operations: [],
    },
  } as unknown as SaleIntent;
}

const notSent: AcquirerOutcome = { outcome: 'NotSent', reason: 'away' };
const approved: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 1000 };

type SetUp = {
  unavailable?: readonly string[];
  now?: number;
  commitReroute?: () => Promise<boolean>;
};

function setUp({ unavailable = [], now = 100, commitReroute = async () => true }: SetUp = {}) {
  const made: { before: TransactionRow; after: TransactionRow; event: StoredEvent }[] = [];
  const deps = {
    clock: { now: () => now },
    dueClock: dueClockOf({ now: () => now }),
    failPoints: { hit() {} },
    log: { warn() {} },
    acquirerTimeoutMs: 10_000,
    acquiring: {
      isLinkAvailable: (linkId: string) => !unavailable.includes(linkId),
      allocateReference: async () => ({ stan: '000002' }),
    },
    rerouteStore: {
      async updateRoute(before: TransactionRow, after: TransactionRow, event: StoredEvent) {
        if (!(await commitReroute())) return false;
        made.push({ before, after, event });
        return true;
      },
    },
  } as unknown as PaymentsDeps;
  return { deps, made };
}

/** `outcomes` by link; `sentLink` sends its message before it fails. `usedLinks` has the order of the calls. */
function acquirers(outcomes: Readonly<Record<string, AcquirerOutcome>>, sentLink = '') {
  const usedLinks: string[] = [];
  const send = async (intent: SaleIntent, onSent: () => void) => {
    const { linkId } = intent.context;
    usedLinks.push(linkId);
    if (linkId === sentLink) onSent();
    return outcomes[linkId] ?? approved;
  };
  return { usedLinks, send };
}

test('an unsent sale fails over to the next contract after the failover is stored', async () => {
  const { deps, made } = setUp();
  const { usedLinks, send } = acquirers({ first: notSent });
  const { intent, outcome } = await sendWithFailover(deps, intentOf(), send);
  assert.deepEqual(usedLinks, ['first', 'second']);
  assert.equal(outcome, approved);
  const [{ before, after, event } = assert.fail()] = made;
  assert.equal(event.type, 'transaction.rerouted');
  assert.deepEqual([before.version, after.version, event.sequence], [1, 2, 2]);
  assert.deepEqual([after.contractId, after.overCapture], ['contract second', 100]);
  const now = authorizationContext(intent.transaction);
  assert.deepEqual(
    [now.linkId, now.merchantNumber, now.mcc, now.reference.stan],
    ['second', 'M second', '5812', '000002'],
  );
  // The intent decides the expiry of the authorization; the new contract decides the capture transport.
  assert.deepEqual([now.holdDays, now.captureTransport, now.cutOverTime], [30, undefined, '22:00']);
});

test('an unavailable link is skipped and the last link decides the outcome', async () => {
  const { deps, made } = setUp({ unavailable: ['second'] });
  const { usedLinks, send } = acquirers({ first: notSent, third: notSent });
  const { outcome } = await sendWithFailover(deps, intentOf(), send);
  assert.deepEqual(usedLinks, ['first', 'third']);
  assert.equal(outcome, notSent);
  assert.equal(made.length, 1);
});

test('no failover after a response, an unknown outcome or a sent byte', async () => {
  for (const [answer, sentLink] of [
    [{ outcome: 'Declined', responseCode: '51' }, ''],
    [{ outcome: 'Unknown', reason: 'Timeout' }, 'first'],
    [notSent, 'first'],
  ] as const) {
    const { deps, made } = setUp();
    const { usedLinks, send } = acquirers({ first: answer }, sentLink);
    await sendWithFailover(deps, intentOf(), send);
    assert.deepEqual([usedLinks, made.length], [['first'], 0]);
  }
});

test('a sale with a PIN has no failover', async () => {
  const { deps, made } = setUp();
  const { usedLinks, send } = acquirers({ first: notSent });
  await sendWithFailover(deps, intentOf({ pin: { block: '00', format: 0 } }), send);
  assert.deepEqual([usedLinks, made.length], [['first'], 0]);
});

test('no failover after a concurrent update, a database error or the send deadline', async () => {
  const databaseError = () => Promise.reject(new Refusal('database_unavailable', 'Away.'));
  for (const input of [
    { commitReroute: async () => false },
    { commitReroute: databaseError },
    { now: 15_000 },
  ]) {
    const { deps } = setUp(input);
    const { usedLinks, send } = acquirers({ first: notSent });
    const { intent, outcome } = await sendWithFailover(deps, intentOf(), send);
    assert.deepEqual(usedLinks, ['first']);
    assert.equal(outcome, notSent);
    assert.equal(intent.context.linkId, 'first');
  }
});
