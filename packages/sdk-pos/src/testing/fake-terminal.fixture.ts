// A terminal for tests: the terminal's side of the dialogue, with answers that a test sets.
import {
  type AnyMessage,
  answerTo,
  categoryRules,
  createPoiDialogue,
  failureTo,
  isMessage,
  type PoiDialogue,
  type Protection,
  readMessage,
  writeMessage,
} from '@switchyard/nexo';

type SendText = (text: string) => void;

export type FakeTerminal = {
  readonly dialogue: PoiDialogue;
  /** Categories of the received messages, in order. */
  readonly receivedCategories: string[];
  /** Services that the terminal ran, in order. */
  readonly services: AnyMessage[];
  /** Holds answers back until `finish`. */
  holdsAnswers: boolean;
  receive(text: string, send: SendText): void;
  /** Answers the held request: paid, or failed with the condition. */
  finish(condition?: string): string;
  readonly send: SendText;
};

const runsInParallel = ({ header }: AnyMessage) =>
  categoryRules(header.MessageCategory).besides === true;
const timestamp = '2026-03-01T10:00:00.000Z';
const successAnswer = (request: AnyMessage): AnyMessage => {
  if (!isMessage(request, 'Payment', 'Request')) {
    return answerTo(request as never, { Response: { Result: 'Success' } } as never) as AnyMessage;
  }
  const { AmountsReq } = request.body.PaymentTransaction;
  return answerTo(request, {
    Response: { Result: 'Success' },
    SaleData: request.body.SaleData,
    POIData: { POITransactionID: { TransactionID: 'poi-1', TimeStamp: timestamp } },
    PaymentResult: {
      AmountsResp: {
        Currency: AmountsReq.Currency,
        AuthorizedAmount: AmountsReq.RequestedAmount ?? 0,
      },
    },
  } as never) as AnyMessage;
};

export function createFakeTerminal(poiId: string, protection?: Protection): FakeTerminal {
  const dialogue = createPoiDialogue({ poiId, now: () => 1_800_000_000_000 });
  let running: AnyMessage | undefined;
  let send: SendText = () => {};
  const write = (message: AnyMessage) => protection?.protect(message) ?? writeMessage(message);

  function finishDialogue(request: AnyMessage, condition?: string): AnyMessage {
    const failed =
      condition === undefined ? undefined : failureTo(request, condition, { at: timestamp });
    const answer = failed ?? successAnswer(request);
    dialogue.finish(answer);
    return answer;
  }

  const poi: FakeTerminal = {
    dialogue,
    receivedCategories: [],
    services: [],
    holdsAnswers: false,
    send: (text) => send(text),
    receive(text, sendText) {
      send = sendText;
      const read = readMessage(text);
      const reading = read.kind === 'Protected' ? protection?.open(read) : read;
      if (reading === undefined || reading.kind === 'Rejected') return;
      if (reading.kind === 'Message')
        poi.receivedCategories.push(reading.message.header.MessageCategory);
      const decision = dialogue.receive(reading, text);
      if (decision.do === 'Run') {
        poi.services.push(decision.message);
        if (poi.holdsAnswers && !runsInParallel(decision.message)) running = decision.message;
        else send(write(finishDialogue(decision.message)));
      } else if (decision.do === 'Answer' || decision.do === 'Notify')
        send(write(decision.message));
      else if (decision.do === 'Abort') send(poi.finish('Aborted'));
    },
    finish(condition) {
      if (running === undefined) throw new Error('nothing is held');
      const request = running;
      running = undefined;
      return write(finishDialogue(request, condition));
    },
  };
  return poi;
}
