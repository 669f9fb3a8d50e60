// Nexo Retailer messages: an accepted message must be JSON, with the header that JSON.parse returns.
import { readMessage, requestOf, writeMessage } from '@switchyard/nexo';
import { type FuzzTarget, MisreadError, mutateInput } from './fuzz-target.ts';
import { randomForInput, type SeededRandom } from './seeded-input.ts';

const soundMessages = 48;
const at = '2026-03-01T10:00:00.000Z';

function messageOf(chance: SeededRandom): Buffer {
  const letters = chance.pick(['till', 'Kasse ü', '🙂', 'a"b\\c', '']);
  const address = { saleId: 'till-3', poiId: 'terminal-1', serviceId: String(chance.below(9999)) };
  const payment = requestOf('Payment', address, {
    SaleData: { SaleTransactionID: { TransactionID: letters, TimeStamp: at } },
    PaymentTransaction: {
      AmountsReq: {
        Currency: 'EUR',
        RequestedAmount: Number(`${chance.below(99)}.${chance.below(99)}`),
      },
    },
  });
  const admin = requestOf('Admin', address, { ServiceIdentification: letters });
  return Buffer.from(writeMessage(chance.oneIn(2) ? payment : admin));
}

const sound = Array.from({ length: soundMessages }, (_, index) =>
  messageOf(randomForInput(soundMessages, index)),
);

type Wire = { SaleToPOIRequest?: Envelope; SaleToPOIResponse?: Envelope };
type Envelope = { MessageHeader: Readonly<Record<string, unknown>> };

function parsed(input: Buffer): Wire {
  try {
    return JSON.parse(input.toString()) as Wire;
  } catch {
    throw new MisreadError('a message that is not JSON');
  }
}

export const nexoTargets: readonly FuzzTarget[] = [
  {
    name: 'Nexo message',
    makeInput: (chance) => mutateInput(sound, chance),
    readInput(input) {
      const reading = readMessage(input);
      if (reading.kind !== 'Message') return false;
      const { SaleToPOIRequest, SaleToPOIResponse } = parsed(input);
      const header = (SaleToPOIRequest ?? SaleToPOIResponse)?.MessageHeader;
      for (const [member, value] of Object.entries(reading.message.header)) {
        // A whole number is read as the text that it is.
        if (String(header?.[member]) !== String(value)) throw new MisreadError(`another ${member}`);
      }
      return true;
    },
  },
];
