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

type Say = (text: string) => void;

export type TestPoi = {
  readonly dialogue: PoiDialogue;
  /** Categories of the received messages, in order. */
  readonly heard: string[];
  /** Services that the terminal ran, in order. */
  readonly ran: AnyMessage[];
  /** Holds answers back until `finish`. */
  holds: boolean;
  hear(text: string, say: Say): void;
  /** Answers the held request: paid, or failed with the condition. */
  finish(condition?: string): string;
  readonly say: Say;
};

const isBeside = ({ header }: AnyMessage) => categoryRules(header.MessageCategory).besides === true;
const at = '2026-03-01T10:00:00.000Z';
const paid = (request: AnyMessage): AnyMessage => {
  if (!isMessage(request, 'Payment', 'Request')) {
    return answerTo(request as never, { Response: { Result: 'Success' } } as never) as AnyMessage;
  }
  const { AmountsReq } = request.body.PaymentTransaction;
  return answerTo(request, {
    Response: { Result: 'Success' },
    SaleData: request.body.SaleData,
    POIData: { POITransactionID: { TransactionID: 'poi-1', TimeStamp: at } },
    PaymentResult: {
      AmountsResp: {
        Currency: AmountsReq.Currency,
        AuthorizedAmount: AmountsReq.RequestedAmount ?? 0,
      },
    },
  } as never) as AnyMessage;
};

export function testPoi(poiId: string, protection?: Protection): TestPoi {
  const dialogue = createPoiDialogue({ poiId, now: () => 1_800_000_000_000 });
  let running: AnyMessage | undefined;
  let say: Say = () => {};
  const write = (message: AnyMessage) => protection?.protect(message) ?? writeMessage(message);

  function end(request: AnyMessage, condition?: string): AnyMessage {
    const failed = condition === undefined ? undefined : failureTo(request, condition, { at });
    const answer = failed ?? paid(request);
    dialogue.finish(answer);
    return answer;
  }

  const poi: TestPoi = {
    dialogue,
    heard: [],
    ran: [],
    holds: false,
    say: (text) => say(text),
    hear(text, through) {
      say = through;
      const read = readMessage(text);
      const reading = read.kind === 'Protected' ? protection?.open(read) : read;
      if (reading === undefined || reading.kind === 'Refused') return;
      if (reading.kind === 'Message') poi.heard.push(reading.message.header.MessageCategory);
      const decision = dialogue.receive(reading, text);
      if (decision.do === 'Run') {
        poi.ran.push(decision.message);
        if (poi.holds && !isBeside(decision.message)) running = decision.message;
        else say(write(end(decision.message)));
      } else if (decision.do === 'Answer' || decision.do === 'Notify') say(write(decision.message));
      else if (decision.do === 'Abort') say(poi.finish('Aborted'));
    },
    finish(condition) {
      if (running === undefined) throw new Error('nothing is held');
      const request = running;
      running = undefined;
      return write(end(request, condition));
    },
  };
  return poi;
}
