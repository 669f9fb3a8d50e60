/** The till of the page: asks the terminal by the Retail API, one service at a time, and never guesses an outcome. */
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  type Body,
  type Category,
  createSaleDialogue,
  createServiceIds,
  type Header,
  readAdditionalResponse,
  readMessage,
  requestOf,
  resultOf,
  type SaleJournal,
  type SaleStep,
  type SaleTimes,
  type Structure,
  toAmount,
  writeMessage,
} from '@switchyard/nexo';
import { type Exchange, withEnd, withExchange } from './message-exchanges.ts';
import type { SendToTerminal, DeliveryResult } from './send-to-terminal.ts';

export type Sum = { readonly amount: number; readonly currency: string };

/** How the last payment or reversal ended. */
export type Ended = {
  readonly service: 'Payment' | 'Reversal';
  readonly sum?: Sum | undefined;
  readonly result: 'Success' | 'Partial' | 'Failure' | 'NotProcessed' | 'Unknown';
  readonly condition?: string | undefined;
  readonly additional?: string | undefined;
  /** The terminal's name of the payment: what a reversal refers to. */
  readonly transactionId?: string | undefined;
  readonly timeStamp?: string | undefined;
  /** The customer's copy. */
  readonly receipt: readonly string[];
};

export type TillView = {
  readonly exchanges: readonly Exchange[];
  /** The service that runs; `Asking`: its answer was lost, and the till finds out. */
  readonly running?:
    | { readonly service: 'Payment' | 'Reversal'; readonly isAsking: boolean }
    | undefined;
  readonly ended?: Ended | undefined;
};

type StoredState = {
  readonly lastServiceId?: string;
  readonly journal?: (SaleJournal & { readonly sum?: Sum | undefined }) | undefined;
};

export type TillDeps = {
  readonly tsn: string;
  readonly saleId: string;
  readonly send: SendToTerminal;
  readonly shelf: Pick<Storage, 'getItem' | 'setItem'>;
  readonly now: () => number;
  readonly randomBelow: (limit: number) => number;
  readonly newId: () => string;
  /** Calls back after a while; @returns ends that. */
  readonly after: (ms: number, then: () => void) => () => void;
  readonly onChange: () => void;
  readonly onFault: (fault: unknown) => void;
  readonly times?: Partial<SaleTimes>;
};

export type Till = ReturnType<typeof createTill>;

type Money = 'Payment' | 'Reversal';

/** Of an order: the beginning of an identifier is enough of it. */
const orderLength = 13;

const isMoney = (category: Category): category is Money =>
  category === 'Payment' || category === 'Reversal';

function parseStoredState(text: string | null): StoredState {
  if (text === null) return {};
  try {
    return JSON.parse(text) as StoredState;
  } catch {
    // Somebody else wrote there: it is none of ours.
    return {};
  }
}

/** What outlives the page, and the identifications that come out of it. */
function openStorage({ tsn, shelf, now, randomBelow }: TillDeps) {
  const name = `switchyard-till ${tsn}`;
  let stored = parseStoredState(shelf.getItem(name));
  const { lastServiceId: last } = stored;
  const nextServiceId = createServiceIds({
    now,
    randomBelow,
    ...defined({ last }),
  });
  function save(change: StoredState): void {
    stored = { ...stored, ...change };
    shelf.setItem(name, JSON.stringify(stored));
  }
  return {
    keep: save,
    journal: stored.journal,
    serviceId(): string {
      const lastServiceId = nextServiceId();
      save({ lastServiceId });
      return lastServiceId;
    },
  };
}

type Bodies = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

function receiptIn({ body }: AnyMessage): readonly string[] {
  const receipts = (body as Partial<Body<'Payment', 'Response'>>).PaymentReceipt ?? [];
  const copy = receipts.find((each) => each.DocumentQualifier === 'CustomerReceipt');
  return (copy?.OutputContent.OutputText ?? []).map(({ Text = '' }) => Text);
}

const additionalOf = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : readAdditionalResponse(text).message;

/** What an answer says of the money. */
function endOf(service: Money, sum: Sum | undefined, message: AnyMessage): Ended {
  const { Result = 'Failure', ErrorCondition, AdditionalResponse } = resultOf(message) ?? {};
  const { POIData, OriginalPOITransaction } = message.body as Bodies;
  // A reversal has an identifier of its own; the payment at the platform is its original.
  const poi = (OriginalPOITransaction ?? POIData)?.['POITransactionID'];
  const { TransactionID, TimeStamp } = (poi ?? {}) as Readonly<Record<string, string>>;
  return {
    service,
    sum,
    result: Result,
    condition: ErrorCondition,
    additional: additionalOf(AdditionalResponse),
    transactionId: TransactionID,
    timeStamp: TimeStamp,
    receipt: receiptIn(message),
  };
}

function paymentOf(
  { amount, currency }: Sum,
  order: string,
  at: string,
): Body<'Payment', 'Request'> {
  return {
    SaleData: { SaleTransactionID: { TransactionID: order, TimeStamp: at } },
    PaymentTransaction: {
      AmountsReq: { Currency: currency, RequestedAmount: toAmount(amount, currency) },
    },
  };
}

/** All of the payment that the terminal calls so. */
const reversalOf = (
  SaleID: string,
  POIID: string,
  POITransactionID: Structure<'TransactionIdentification'>,
): Body<'Reversal', 'Request'> => ({
  OriginalPOITransaction: { SaleID, POIID, POITransactionID },
  ReversalReason: 'MerchantCancel',
});

/** @example const till = createTill(deps); till.pay({ amount: 1250, currency: 'EUR' }); */
export function createTill(deps: TillDeps) {
  const { tsn, saleId, now } = deps;
  const { keep: save, serviceId, journal } = openStorage(deps);
  let view: TillView = { exchanges: [] };
  let sum: Sum | undefined = journal?.sum;
  let count = 0;
  let stopTimer = () => {};
  let isOver = false;
  const sale = createSaleDialogue({
    saleId,
    poiId: tsn,
    now,
    nextServiceId: serviceId,
    ...defined({
      times: deps.times,
      journal: journal === undefined ? undefined : { header: journal.header, at: journal.at },
    }),
  });

  function show(change: Partial<TillView>): void {
    view = { ...view, ...change };
    deps.onChange();
  }

  /** Sends it, and notes for people what came of it. */
  async function exchange(message: AnyMessage): Promise<DeliveryResult> {
    count += 1;
    const number = count;
    const request = writeMessage(message);
    const category = message.header.MessageCategory;
    const begun = now();
    const exchanged: Exchange = { number, category, request, status: 'Waiting' };
    show({ exchanges: withExchange(view.exchanges, exchanged) });
    const delivery = await deps.send(request);
    const tookMs = now() - begun;
    const end: Partial<Exchange> = { status: delivery.kind, tookMs };
    if (delivery.kind === 'Answered') {
      const reading = readMessage(delivery.text);
      const responseResult = reading.kind === 'Message' ? resultOf(reading.message) : undefined;
      const { Result: result, ErrorCondition: condition } = responseResult ?? {};
      Object.assign(end, { response: delivery.text, result, condition });
    }
    if ('fault' in delivery) Object.assign(end, { fault: delivery.fault });
    show({ exchanges: withEnd(view.exchanges, number, end) });
    return delivery;
  }

  function finish(request: Header, ended: Ended): void {
    save({ journal: undefined });
    if (isMoney(request.MessageCategory)) show({ running: undefined, ended });
  }

  function finished(step: Extract<SaleStep, { do: 'Finish' }>): void {
    const { request } = step;
    const service = request.MessageCategory as Money;
    if (step.outcome === 'Answered') finish(request, endOf(service, sum, step.message));
    else if (step.outcome === 'Faulty') {
      const { Result, ErrorCondition, AdditionalResponse } = step.response;
      const refusal = {
        result: Result,
        condition: ErrorCondition,
        additional: additionalOf(AdditionalResponse),
      };
      finish(request, { service, sum, ...refusal, receipt: [] });
    } else finish(request, { service, sum, result: step.outcome, receipt: [] });
  }

  /** What follows from an answer that did not come. */
  function withoutAnswer({ header }: AnyMessage, delivery: DeliveryResult): SaleStep {
    if (!isMoney(header.MessageCategory)) return { do: 'Wait' };
    if (delivery.kind === 'NotSent') return sale.notSent();
    show({ running: { service: header.MessageCategory, isAsking: true } });
    return sale.lost();
  }

  async function send(message: AnyMessage): Promise<void> {
    const journaled = sale.journal();
    save({ journal: journaled === undefined ? undefined : { ...journaled, sum } });
    const delivery = await exchange(message);
    if (isOver) return;
    if (delivery.kind === 'Answered') {
      const reading = readMessage(delivery.text);
      if (reading.kind === 'Protected')
        return act(withoutAnswer(message, { kind: 'Unknown', fault: reading }));
      const step = sale.receive(reading);
      // An answer that cannot be read ends nothing: what became of it is asked for.
      const isLost = step.do === 'Ignore' && isMoney(message.header.MessageCategory);
      return act(isLost && sale.journal() !== undefined ? sale.lost() : step);
    }
    if (delivery.kind !== 'Taken') await act(withoutAnswer(message, delivery));
    else schedule();
  }

  async function act(step: SaleStep): Promise<void> {
    if (step.do === 'Send') await send(step.message);
    else if (step.do === 'Finish') finished(step);
    if (!isOver) schedule();
  }

  function schedule(): void {
    stopTimer();
    const due = sale.due();
    if (due === undefined) return;
    stopTimer = deps.after(
      Math.max(0, due - now()),
      () => void act(sale.tick()).catch(deps.onFault),
    );
  }

  function begin(service: Money, step: SaleStep): void {
    if (step.do !== 'Send') return;
    show({ running: { service, isAsking: false }, ended: undefined });
    act(step).catch(deps.onFault);
  }

  /** Goes besides whatever runs; its answer is for people alone. */
  function sendInquiry<Of extends 'Diagnosis' | 'TransactionStatus'>(
    category: Of,
    body: Body<Of, 'Request'>,
  ): void {
    const message = requestOf(
      category,
      { saleId, poiId: tsn, serviceId: serviceId() },
      body as never,
    );
    exchange(message as AnyMessage).catch(deps.onFault);
  }

  const at = () => new Date(now()).toISOString();

  if (journal !== undefined && isMoney(journal.header.MessageCategory)) {
    view = { ...view, running: { service: journal.header.MessageCategory, isAsking: true } };
  }

  return {
    view: () => view,
    /** Goes on with what an earlier page has left open. */
    start: () => void act(sale.tick()).catch(deps.onFault),

    pay(requested: Sum): void {
      if (sale.journal() !== undefined) return;
      sum = requested;
      const order = deps.newId().slice(0, orderLength);
      begin('Payment', sale.begin('Payment', paymentOf(requested, order, at())));
    },

    /** All of a payment, by the terminal's name of it. */
    reverse({ transactionId, timeStamp, sum: service }: Ended): void {
      if (sale.journal() !== undefined || transactionId === undefined) return;
      sum = service;
      const original = { TransactionID: transactionId, TimeStamp: timeStamp ?? at() };
      begin('Reversal', sale.begin('Reversal', reversalOf(saleId, tsn, original)));
    },

    abort(): void {
      const step = sale.abort('MerchantAbort');
      if (step.do === 'Send') exchange(step.message).catch(deps.onFault);
    },

    /** Of what runs; else of the last one. */
    askStatus(): void {
      const { MessageCategory, ServiceID, SaleID, POIID } = sale.journal()?.header ?? {};
      sendInquiry(
        'TransactionStatus',
        ServiceID === undefined
          ? {}
          : { MessageReference: { MessageCategory, ServiceID, SaleID, POIID } as never },
      );
    },

    diagnose: () => sendInquiry('Diagnosis', { HostDiagnosisFlag: true }),

    stop(): void {
      isOver = true;
      stopTimer();
    },
  };
}
