import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined, ProblemError } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerReference } from '../../acquiring/index.ts';
import { unguardedNumbering } from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import { zeroAmounts } from '../transaction/state-machine.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type StoredEvent,
  type TransactionRow,
} from '../transaction/transaction.ts';
import { type FailoverPorts, sendWithFailover } from './acquirer-failover.ts';
import type { SaleIntent } from './create-sale-intent.ts';

const context = {
  kind: 'Authorization',
  linkId: 'first',
  acquirerMerchantId: 'M1',
  mcc: '5411',
  timeZone: 'UTC',
  request: {},
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
        overCaptureAllowance: 0,
        version: 1,
        deadline: 20_000,
        position: { ...zeroAmounts, phase: 'Received' },
      },
      events: [{ sequence: 1, type: 'transaction.received', at: '', data: { context } }],
      operations: [],
    },
  } as unknown as SaleIntent;
}

const notSent: AcquirerOutcome = { outcome: 'NotSent', reason: 'away' };
const approved: AcquirerOutcome = { outcome: 'Approved', responseCode: '00', amount: 1000 };

type SetUp = {
  unavailableLinks?: readonly string[];
  /** The time after each message. */
  nowAfterSend?: number;
  updateRoute?: () => Promise<boolean>;
  /** Approved where left out. */
  outcomes?: Readonly<Record<string, AcquirerOutcome>>;
  linkThatSends?: string | undefined;
};

function setUp({
  unavailableLinks = [],
  nowAfterSend = 100,
  updateRoute = async () => true,
  outcomes = {},
  linkThatSends,
}: SetUp = {}) {
  const reroutes: { before: TransactionRow; after: TransactionRow; event: StoredEvent }[] = [];
  const links: string[] = [];
  let now = 100;
  const ports: FailoverPorts = {
    clock: { now: () => now },
    failPoints: { hit() {} },
    log: { warn() {} },
    numbering: unguardedNumbering,
    acquirerTimeoutMs: 10_000,
    acquiring: {
      isLinkAvailable: (linkId) => !unavailableLinks.includes(linkId),
      allocateReference: async () => ({ stan: '000002' }) as AcquirerReference,
      async send({ linkId }, onPossiblySent) {
        links.push(linkId);
        now = nowAfterSend;
        if (linkId === linkThatSends) onPossiblySent?.();
        return outcomes[linkId] ?? approved;
      },
    },
    transactions: {
      async updateRoute(before, after, event) {
        if (!(await updateRoute())) return false;
        reroutes.push({ before, after, event });
        return true;
      },
    },
  };
  return { ports, reroutes, links };
}

test('an unsent sale fails over to the next contract after the failover is stored', async () => {
  const { ports, reroutes, links } = setUp({ outcomes: { first: notSent } });
  const { intent, outcome } = await sendWithFailover(ports, intentOf());
  assert.deepEqual(links, ['first', 'second']);
  assert.equal(outcome, approved);
  const [{ before, after, event } = assert.fail()] = reroutes;
  assert.equal(event.type, 'transaction.rerouted');
  assert.deepEqual([before.version, after.version, event.sequence], [1, 2, 2]);
  assert.deepEqual([after.contractId, after.overCaptureAllowance], ['contract second', 100]);
  const now = authorizationContext(intent.transaction);
  assert.deepEqual(
    [now.linkId, now.acquirerMerchantId, now.mcc, now.reference.stan],
    ['second', 'M second', '5812', '000002'],
  );
  // The hold lasts as long as the intent says; how its captures travel is the new acquirer's.
  assert.deepEqual([now.holdDays, now.captureTransport, now.cutOverTime], [30, undefined, '22:00']);
});

test('an unavailable link is skipped and the last link decides the outcome', async () => {
  const { ports, reroutes, links } = setUp({
    unavailableLinks: ['second'],
    outcomes: { first: notSent, third: notSent },
  });
  const { outcome } = await sendWithFailover(ports, intentOf());
  assert.deepEqual(links, ['first', 'third']);
  assert.equal(outcome, notSent);
  assert.equal(reroutes.length, 1);
});

test('a sale whose intent may be in a restored database is not sent', async () => {
  const { ports, links } = setUp();
  const numbering = { isAvailable: () => false };
  const { outcome } = await sendWithFailover({ ...ports, numbering }, intentOf());
  assert.equal(outcome.outcome, 'NotSent');
  assert.deepEqual(links, []);
});

// Spec: PROV-56
test('no failover after a response, an unknown outcome or a sent byte', async () => {
  for (const [first, linkThatSends] of [
    [{ outcome: 'Declined', responseCode: '51' }, ''],
    [{ outcome: 'Unknown', reason: 'Timeout' }, 'first'],
    [notSent, 'first'],
  ] as const) {
    const { ports, reroutes, links } = setUp({ outcomes: { first }, linkThatSends });
    await sendWithFailover(ports, intentOf());
    assert.deepEqual([links, reroutes.length], [['first'], 0]);
  }
});

test('a sale with a PIN has no failover', async () => {
  const { ports, reroutes, links } = setUp({ outcomes: { first: notSent } });
  await sendWithFailover(ports, intentOf({ pin: { block: '00', format: 0 } }));
  assert.deepEqual([links, reroutes.length], [['first'], 0]);
});

test('no failover after a concurrent update or a database error', async () => {
  const databaseError = () => Promise.reject(new ProblemError('database_unavailable', 'Away.'));
  for (const updateRoute of [async () => false, databaseError]) {
    const { ports, links } = setUp({ updateRoute, outcomes: { first: notSent } });
    const { intent, outcome } = await sendWithFailover(ports, intentOf());
    assert.deepEqual(links, ['first']);
    assert.equal(outcome, notSent);
    assert.equal(intent.context.linkId, 'first');
  }
});

test('no failover after the send deadline', async () => {
  const { ports, links } = setUp({ nowAfterSend: 15_000, outcomes: { first: notSent } });
  const { outcome } = await sendWithFailover(ports, intentOf());
  assert.deepEqual(links, ['first']);
  assert.equal(outcome, notSent);
});
