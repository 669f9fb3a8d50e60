/**
 * The point of sale of the page. It sends one service at a time through the Retail API and queries
 * a lost outcome.
 */
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
import { addExchange, completeExchange, type MessageExchange } from './message-exchanges.ts';
import type { DeliveryResult, SendToTerminal } from './send-to-terminal.ts';

export type MoneyAmount = { readonly amount: number; readonly currency: string };

/** The outcome of the last payment or reversal. */
export type ServiceOutcome = {
  readonly service: 'Payment' | 'Reversal';
  readonly sum?: MoneyAmount | undefined;
  readonly result: 'Success' | 'Partial' | 'Failure' | 'NotProcessed' | 'Unknown';
  readonly condition?: string | undefined;
  readonly additional?: string | undefined;
  /** The terminal's identifier of the payment, for a reversal. */
  readonly transactionId?: string | undefined;
  readonly timeStamp?: string | undefined;
  /** The lines of the customer receipt. */
  readonly receipt: readonly string[];
};

export type PointOfSaleView = {
  readonly exchanges: readonly MessageExchange[];
  /**
   * The running service; `isAsking` means that its response was lost and the outcome is queried.
   */
  readonly running?:
    | { readonly service: 'Payment' | 'Reversal'; readonly isAsking: boolean }
    | undefined;
  readonly ended?: ServiceOutcome | undefined;
};

type StoredState = {
  readonly lastServiceId?: string;
  readonly journal?: (SaleJournal & { readonly sum?: MoneyAmount | undefined }) | undefined;
};

export type PointOfSaleOptions = {
  readonly tsn: string;
  readonly saleId: string;
  readonly send: SendToTerminal;
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>;
  readonly now: () => number;
  readonly randomBelow: (limit: number) => number;
  readonly newId: () => string;
  /** Runs a callback later. @returns a function that cancels it */
  readonly after: (ms: number, then: () => void) => () => void;
  readonly onChange: () => void;
  readonly onFault: (fault: unknown) => void;
  readonly times?: Partial<SaleTimes>;
};

export type PointOfSale = ReturnType<typeof createPointOfSale>;

type MoneyService = 'Payment' | 'Reversal';

/** The length of an order identifier. */
const orderLength = 13;

const isMoneyService = (category: Category): category is MoneyService =>
  category === 'Payment' || category === 'Reversal';

function parseStoredState(text: string | null): StoredState {
  if (text === null) return {};
  try {
    return JSON.parse(text) as StoredState;
  } catch {
    // The stored text is not valid JSON, so it is ignored.
    return {};
  }
}

/** The state that survives a reload, and the service IDs derived from it. */
function openStorage({ tsn, storage, now, randomBelow }: PointOfSaleOptions) {
  const name = `switchyard-till ${tsn}`;
  let stored = parseStoredState(storage.getItem(name));
  const { lastServiceId: last } = stored;
  const nextServiceId = createServiceIds({
    now,
    randomBelow,
    ...defined({ last }),
  });
  function save(change: StoredState): void {
    stored = { ...stored, ...change };
    storage.setItem(name, JSON.stringify(stored));
  }
  return {
    save,
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

/** Reads the outcome from a response. */
function endOf(
  service: MoneyService,
  sum: MoneyAmount | undefined,
  message: AnyMessage,
): ServiceOutcome {
  const { Result = 'Failure', ErrorCondition, AdditionalResponse } = resultOf(message) ?? {};
  const { POIData, OriginalPOITransaction } = message.body as Bodies;
  // A reversal has its own identifier; the payment on the platform is its original.
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
  { amount, currency }: MoneyAmount,
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

/** Reverses the complete payment with this terminal identifier. */
const reversalOf = (
  SaleID: string,
  POIID: string,
  POITransactionID: Structure<'TransactionIdentification'>,
): Body<'Reversal', 'Request'> => ({
  OriginalPOITransaction: { SaleID, POIID, POITransactionID },
  ReversalReason: 'MerchantCancel',
});

/**
 * @example const pointOfSale = createPointOfSale(options); pointOfSale.pay({ amount: 1250,
 * currency: 'EUR' });
 */
export function createPointOfSale(deps: PointOfSaleOptions) {
  const { tsn, saleId, now } = deps;
  const { save, serviceId, journal } = openStorage(deps);
  let view: PointOfSaleView = { exchanges: [] };
  let sum: MoneyAmount | undefined = journal?.sum;
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

  function show(change: Partial<PointOfSaleView>): void {
    view = { ...view, ...change };
    deps.onChange();
  }

  /** Sends a message and records the exchange. */
  async function exchange(message: AnyMessage): Promise<DeliveryResult> {
    count += 1;
    const number = count;
    const request = writeMessage(message);
    const category = message.header.MessageCategory;
    const begun = now();
    const exchanged: MessageExchange = { number, category, request, status: 'Waiting' };
    show({ exchanges: addExchange(view.exchanges, exchanged) });
    const delivery = await deps.send(request);
    const tookMs = now() - begun;
    const end: Partial<MessageExchange> = { status: delivery.kind, tookMs };
    if (delivery.kind === 'Answered') {
      const reading = readMessage(delivery.text);
      const responseResult = reading.kind === 'Message' ? resultOf(reading.message) : undefined;
      const { Result: result, ErrorCondition: condition } = responseResult ?? {};
      Object.assign(end, { response: delivery.text, result, condition });
    }
    if ('fault' in delivery) Object.assign(end, { fault: delivery.fault });
    show({ exchanges: completeExchange(view.exchanges, number, end) });
    return delivery;
  }

  function finish(request: Header, ended: ServiceOutcome): void {
    save({ journal: undefined });
    if (isMoneyService(request.MessageCategory)) show({ running: undefined, ended });
  }

  function finished(step: Extract<SaleStep, { do: 'Finish' }>): void {
    const { request } = step;
    const service = request.MessageCategory as MoneyService;
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

  /** Continues after a missing response. */
  function withoutAnswer({ header }: AnyMessage, delivery: DeliveryResult): SaleStep {
    if (!isMoneyService(header.MessageCategory)) return { do: 'Wait' };
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
      // An unreadable response ends nothing; the outcome is queried.
      const isLost = step.do === 'Ignore' && isMoneyService(message.header.MessageCategory);
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

  function begin(service: MoneyService, step: SaleStep): void {
    if (step.do !== 'Send') return;
    show({ running: { service, isAsking: false }, ended: undefined });
    act(step).catch(deps.onFault);
  }

  /** Runs beside the current service; only the message log shows the response. */
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

  if (journal !== undefined && isMoneyService(journal.header.MessageCategory)) {
    view = { ...view, running: { service: journal.header.MessageCategory, isAsking: true } };
  }

  return {
    view: () => view,
    /** Continues a service that an earlier page left open. */
    start: () => void act(sale.tick()).catch(deps.onFault),

    pay(requested: MoneyAmount): void {
      if (sale.journal() !== undefined) return;
      sum = requested;
      const order = deps.newId().slice(0, orderLength);
      begin('Payment', sale.begin('Payment', paymentOf(requested, order, at())));
    },

    /** Reverses the complete payment by its terminal identifier. */
    reverse({ transactionId, timeStamp, sum: service }: ServiceOutcome): void {
      if (sale.journal() !== undefined || transactionId === undefined) return;
      sum = service;
      const original = { TransactionID: transactionId, TimeStamp: timeStamp ?? at() };
      begin('Reversal', sale.begin('Reversal', reversalOf(saleId, tsn, original)));
    },

    abort(): void {
      const step = sale.abort('MerchantAbort');
      if (step.do === 'Send') exchange(step.message).catch(deps.onFault);
    },

    /** Queries the running service, otherwise the last one. */
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
