// Payments of a gateway for tests, and their recording at the acquirer simulator.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import {
  compileDialect,
  compileHost,
  createDeframer,
  encodeFrame,
  type HostTable,
  type Message,
} from '@switchyard/iso8583';
import {
  type AcquirerReference,
  type AcquirerRequest,
  networkMessage,
  toIso8583Message,
} from '../../../packages/server/src/acquiring/index.ts';
import { startAcquirerHost } from '../../../packages/simulators/src/index.ts';
import type { TestMessage } from './trace-writer.fixture.ts';

const institutionId = '424242';
/** The time of the first message, epoch ms. */
const startMs = Date.UTC(2026, 10, 29, 23, 15);
// In two parts: the source has no card numbers.
const pan = '541333' + '0089010012';
const track2 = `${pan}=30122010000000000`;
const pinBlock = '1B9C1845EB993A7A';
const securityCode = '737';
/** The card data that no output may contain, as text, in hexadecimal of its characters, and in packed digits. */
export const cardData = [
  pan,
  track2,
  track2.replace('=', 'D'),
  pinBlock,
  pinBlock.toLowerCase(),
  `9203${securityCode}`,
  ...[pan, track2, `9203${securityCode}`].map((text) => Buffer.from(text).toString('hex')),
];

const chipData =
  '8202' +
  '1800' +
  '9505' +
  '0080048000' +
  '9A03' +
  '261129' +
  '9C01' +
  '00' +
  '5F2A02' +
  '0978' +
  '9F0206' +
  '000000001250' +
  '9F1A02' +
  '0250' +
  '9F2608' +
  '584FD385FA234BCC' +
  '9F2701' +
  '80' +
  '9F3303' +
  'E0F0C8' +
  '9F3403' +
  '440302' +
  '9F3602' +
  '0001' +
  '9F3704' +
  '11223344';

const mtiByKind = {
  Authorization: '0100',
  Sale: '0200',
  OfflineSale: '0220',
  Capture: '0220',
  Refund: '0200',
  Reversal: '0420',
} as const;

/** Creates the payments of one terminal, each with numbers of its own. */
export function createPayments(terminalId = 'TERM0001') {
  let trace = 0;

  function payment(
    kind: AcquirerRequest['kind'],
    facts: Partial<AcquirerRequest> = {},
  ): AcquirerRequest {
    trace += 1;
    const stan = String(trace).padStart(6, '0');
    const reference: AcquirerReference = {
      mti: mtiByKind[kind],
      terminalId,
      stan,
      rrn: `633323${stan}`,
      transmittedAt: `11292315${stan.slice(4)}`,
      localTime: `0015${stan.slice(4)}00`.slice(0, 6),
      localDate: '1130',
    };
    return {
      kind,
      repeat: false,
      organizationId: '',
      transactionId: '',
      linkId: '',
      reference,
      merchantNumber: 'M00000000000001',
      mcc: '5411',
      amount: 1250,
      currency: 'EUR',
      entryMode: 'Keyed',
      card: { pan, expiry: '3012' },
      ...facts,
    };
  }

  const followUp = (
    kind: AcquirerRequest['kind'],
    original: AcquirerRequest,
    facts: Partial<AcquirerRequest> = {},
  ) => payment(kind, { original: original.reference, entryMode: original.entryMode, ...facts });

  return { payment, followUp };
}

/** One payment of each kind, with all optional data. */
export function allKinds(): AcquirerRequest[] {
  const { payment, followUp } = createPayments();
  const chip = payment('Sale', {
    entryMode: 'ContactChip',
    panSequence: '001',
    chipData,
    sensitive: { track2, pin: { block: pinBlock, format: 0, keyIndex: '01' } },
  });
  const stripe = payment('Sale', { entryMode: 'MagStripe', sensitive: { track2 } });
  const remote = payment('Authorization', {
    isRemoteOrder: true,
    addressCheck: { postalCode: 'SW1A2AA', houseNumber: '10' },
    sensitive: { securityCode },
  });
  const cashback = payment('Sale', { amounts: { cashback: 500, tip: 100 } });
  const authorization = payment('Authorization', { amount: 10_000 });
  const offline = payment('OfflineSale', { entryMode: 'ContactChip', authorizationCode: '9A01B2' });
  return [
    chip,
    stripe,
    remote,
    cashback,
    authorization,
    offline,
    followUp('Capture', authorization, { amount: 4000 }),
    followUp('Reversal', authorization, {
      amount: 2000,
      remainingAmount: 8000,
      reversalReason: 'CustomerCancel',
    }),
    followUp('Capture', authorization, { amount: 4000, final: true }),
    followUp('Refund', stripe, { amount: 250 }),
    followUp('Reversal', cashback, {
      reversalReason: 'Timeout',
      amounts: { cashback: 500, tip: 100 },
    }),
    followUp('Reversal', remote, { reversalReason: 'CustomerCancel', isRemoteOrder: true }),
  ];
}

/** Changes a message in the form of the host; undefined leaves it out. */
export type ChangeMessage = (message: Message, direction: TestMessage['direction']) => Message;

type TrafficOptions = { table: HostTable; change?: ChangeMessage };

/** The bytes of the platform for payments, as a gateway with other habits sends them. */
export function createFrameWriter({ table, change = (message) => message }: TrafficOptions) {
  const host = compileHost(table, { now: () => startMs });
  const dialect = compileDialect(table.messages);
  const encode = (message: Message): Buffer =>
    host.requiresMac(message.mti)
      ? host.encodeWithoutMac(message).seal(Buffer.from('0123456789ABCDEF', 'hex'))
      : host.encode(message);
  const frame = (payload: Buffer): Buffer =>
    encodeFrame(host.framing, payload, { header: host.headers.request(payload.length) });
  const encodeMessage = (
    message: Message,
    direction: TestMessage['direction'] = 'ToHost',
  ): Buffer => frame(dialect.encode(change(dialect.decode(encode(message)), direction)));
  return {
    frame,
    /** A message of either side in canonical form. */
    encodeMessage,
    encodePayment: (request: AcquirerRequest): Buffer =>
      encodeMessage(toIso8583Message(request, institutionId, table)),
  };
}

/** Sends payments to the acquirer simulator, one after the other, and records both directions. */
export async function recordTraffic(
  payments: readonly AcquirerRequest[],
  options: TrafficOptions,
): Promise<TestMessage[]> {
  const { table, change = (message) => message } = options;
  const directory = mkdtempSync(join(tmpdir(), 'compare-gateway-'));
  const simulator = await startAcquirerHost({
    host: '127.0.0.1',
    port: 0,
    ledgerDir: directory,
    lateMs: 35_000,
    slowMs: 8000,
    dialect: table,
  });
  const socket = connect(simulator.port, '127.0.0.1');
  const writer = createFrameWriter(options);
  const dialect = compileDialect(table.messages);
  const host = compileHost(table, { now: () => startMs });
  const isAssignedByHost = table.retrievalReference.assignedBy === 'Host';
  /** The numbers of the responses, by trace number. */
  const answers = new Map<
    string,
    { authorizationCode: string | undefined; reference: Partial<AcquirerReference> }
  >();
  const deframer = createDeframer(host.framing, { maxBytes: 8192 });
  const recorded: TestMessage[] = [];
  let atMs = startMs;
  /** Sends a request, and returns the response in canonical form. */
  async function exchange(frame: Buffer): Promise<Message> {
    recorded.push({ direction: 'ToHost', atMs, frame });
    socket.write(frame);
    for (;;) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      const [answer] = deframer.push(chunk);
      if (answer === undefined) continue;
      const response = change(dialect.decode(answer.payload), 'FromHost');
      atMs += 120;
      recorded.push({ direction: 'FromHost', atMs, frame: writer.frame(dialect.encode(response)) });
      atMs += 880;
      return host.decode(answer.payload);
    }
  }
  try {
    await once(socket, 'connect');
    const trace = { stan: '900001', transmittedAt: '1129231400' };
    await exchange(writer.encodeMessage(networkMessage('signOn', trace)));
    for (const payment of payments) {
      const { original } = payment;
      const answer = answers.get(original?.stan ?? '');
      const facts = defined({
        authorizationCode: answer?.authorizationCode,
        original: original && { ...original, ...answer?.reference },
      });
      const { fields } = await exchange(writer.encodePayment({ ...payment, ...facts }));
      const { 37: rrn = '', 38: authorizationCode } = fields;
      answers.set(payment.reference.stan, {
        authorizationCode,
        reference: isAssignedByHost ? { rrn: rrn.trim(), rrnAssignedBy: 'Host' } : {},
      });
    }
    await exchange(writer.encodeMessage(networkMessage('echo', { ...trace, stan: '900002' })));
  } finally {
    socket.destroy();
    await simulator.stop();
    rmSync(directory, { recursive: true });
  }
  return recorded;
}
