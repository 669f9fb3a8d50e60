// Writes the requests of the load as HTTP text; all but identifiers and device is made beforehand.
import { randomUUID } from 'node:crypto';
import { type Card, chipData, makeCards } from '../environment/test-cards.ts';

/** An application of the bench with its token, and the devices that its sales are spread over. */
export type SellingDevice = { token: string; deviceIds: readonly string[] };

export type SaleRequestText = { text: string; clientTransactionId: string; till: number };

const amountsMax = 8999;
/** Of four sales two are keyed and two come from a chip. */
const entryModes = ['Keyed', 'ContactChip', 'Keyed', 'ContactlessChip'] as const;
const transactions = '/payment/v1/transactions';

/** The rest of a body after the identifier; the device is at its end, before the last bracket. */
function bodyRest(card: Card, index: number, random: () => number): string {
  // Below 9000, where the acquirer simulator approves every amount.
  const amount = 1 + Math.floor(random() * amountsMax);
  const entryMode = entryModes[index % entryModes.length] ?? 'Keyed';
  const unpredictable = Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
    .toUpperCase();
  const instrument =
    entryMode === 'Keyed'
      ? { card }
      : { emvData: chipData(card, { amount, currency: '978', unpredictable, counter: index }) };
  const rest = JSON.stringify({ amount, currency: 'EUR', entryMode, instrument });
  return `",${rest.slice(1, -1)},"deviceId":"`;
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

export type RequestWriter = {
  /** `holds` are captured later. */
  sale(kind?: 'sales' | 'holds'): SaleRequestText;
  read(till: number, identifier: string): string;
};

/**
 * @param authority host and port, as the server calls itself
 * @example const writer = createRequestWriter({ authority: 'localhost:8443', tills, cards: 2000, random });
 */
export function createRequestWriter(options: {
  authority: string;
  tills: readonly SellingDevice[];
  cards: number;
  random: () => number;
}): RequestWriter {
  const { tills, random } = options;
  const rests = makeCards(options.cards, random).map((card, index) =>
    bodyRest(card, index, random),
  );
  const headers = tills.map(
    ({ token }) => `Host: ${options.authority}\r\nAuthorization: Bearer ${token}\r\n`,
  );
  const starts = {
    sales: '{"clientTransactionId":"',
    holds: '{"captureMode":"Deferred","clientTransactionId":"',
  };
  const end = '"}';
  const identifiers = 72;
  return {
    sale(kind = 'sales') {
      const start = starts[kind];
      const till = Math.floor(random() * tills.length);
      const rest = pick(rests, random);
      const deviceId = pick(tills[till]?.deviceIds ?? [], random);
      const clientTransactionId = randomUUID();
      const length = start.length + rest.length + end.length + identifiers;
      const text =
        `POST ${transactions}/process HTTP/1.1\r\n${headers[till]}` +
        `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n` +
        start +
        clientTransactionId +
        rest +
        deviceId +
        end;
      return { text, clientTransactionId, till };
    },
    read: (till, identifier) =>
      `GET ${transactions}/${identifier} HTTP/1.1\r\n${headers[till]}\r\n`,
  };
}
