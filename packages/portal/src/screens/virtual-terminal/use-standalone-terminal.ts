/** Runs one payment at a time, with its own identifier. */

import {
  defined,
  type QrEventList,
  type QrTransaction,
  type Transaction,
} from '@switchyard/contract';
import { useEffect, useRef, useState } from 'react';
import { ConnectionError, isNotProcessed } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { nowMs } from '../../session/clock.ts';
import { newUuid } from '../../session/random-values.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { testCardExpiry } from './card-expiry.ts';

export type SaleRequestText = {
  readonly method: 'Card' | 'Qr';
  readonly amount: number;
  readonly currency: string;
  readonly card: string;
  readonly isDeferred: boolean;
  readonly paymentType: string;
  readonly deviceId: string | undefined;
};

export type TerminalProgress =
  | { readonly step: 'ready' }
  | { readonly step: 'busy'; readonly order: SaleRequestText }
  | { readonly step: 'card'; readonly payment: Transaction }
  | { readonly step: 'code'; readonly payment: QrTransaction };

export type StandaloneTerminalState = {
  readonly progress: TerminalProgress;
  readonly isBusy: boolean;
  readonly fault: unknown;
  start(order: SaleRequestText): void;
};

const waitSeconds = 20;
const waitLimitMs = 30_000;

function sell(order: SaleRequestText, clientTransactionId: string): Promise<Transaction> {
  const { month: expiryMonth, year: expiryYear } = testCardExpiry(nowMs());
  const { amount, currency, card, isDeferred, deviceId } = order;
  return api.post<Transaction>('/payment/v1/transactions/process', {
    body: {
      clientTransactionId,
      amount,
      currency,
      entryMode: 'Keyed',
      captureMode: isDeferred ? 'Deferred' : 'Immediate',
      ...defined({ deviceId }),
      instrument: { card: { number: card, expiryMonth, expiryYear } },
    },
  });
}

/** In the demo, a user of a merchant can act as a device of that merchant. */
const asDevice = (deviceId: string | undefined): Record<string, string> =>
  defined({ 'x-switchyard-device': deviceId });

function askForCode(order: SaleRequestText, clientTransactionId: string): Promise<QrTransaction> {
  const { amount, currency, paymentType, deviceId } = order;
  return api.post<QrTransaction>('/qrcode-payment/v1/transactions', {
    headers: asDevice(deviceId),
    body: {
      clientTransactionId,
      paymentType,
      paymentScenario: 'consumerscan',
      paymentAmount: { amount, currency },
    },
  });
}

/** Polls until the payment has ended or the page is closed. */
async function follow(
  { transactionId, deviceId }: QrTransaction,
  signal: AbortSignal,
  onChange: (payment: QrTransaction) => void,
): Promise<void> {
  const path = `/qrcode-payment/v1/transactions/${transactionId}`;
  const options = { headers: asDevice(deviceId), signal, isBackground: true };
  let after = 0;
  for (let isFinal = false; !isFinal && !signal.aborted; ) {
    const news = await api.get<QrEventList>(`${path}/events`, {
      ...options,
      query: { after, wait: waitSeconds },
      limitMs: waitLimitMs,
    });
    after = news.nextAfter;
    isFinal = news.isFinal;
    if (news.events.length > 0) onChange(await api.get<QrTransaction>(path, options));
  }
}

export function useStandaloneTerminal(): StandaloneTerminalState {
  const [progress, setProgress] = useState<TerminalProgress>({ step: 'ready' });
  const [fault, setFault] = useState<unknown>(undefined);
  const isRunning = useRef(false);
  /** The identifier of a sale without response; the same order uses it again. */
  const unanswered = useRef<{ readonly id: string; readonly orderKey: string } | undefined>(
    undefined,
  );
  const following = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => following.current?.abort(), []);

  async function run(order: SaleRequestText): Promise<void> {
    following.current?.abort();
    setFault(undefined);
    setProgress({ step: 'busy', order });
    const orderKey = JSON.stringify(order);
    const id = unanswered.current?.orderKey === orderKey ? unanswered.current.id : newUuid();
    unanswered.current = { id, orderKey };
    try {
      if (order.method === 'Card') {
        setProgress({ step: 'card', payment: await sell(order, id) });
      } else {
        const payment = await askForCode(order, id);
        setProgress({ step: 'code', payment });
        watch(payment);
      }
      unanswered.current = undefined;
      discardLists('["payments"');
      discardLists('["qr-payments"');
    } catch (error) {
      // After an unknown outcome the next attempt is the same payment.
      if (isNotProcessed(error)) unanswered.current = undefined;
      setFault(error);
      setProgress({ step: 'ready' });
    }
  }

  function watch(payment: QrTransaction): void {
    const control = new AbortController();
    following.current = control;
    follow(payment, control.signal, (next) => setProgress({ step: 'code', payment: next })).catch(
      (error: unknown) => {
        if (!control.signal.aborted && !(error instanceof ConnectionError)) setFault(error);
      },
    );
  }

  return {
    progress,
    isBusy: progress.step === 'busy',
    fault,
    start(order) {
      if (isRunning.current) return;
      isRunning.current = true;
      void run(order).finally(() => {
        isRunning.current = false;
      });
    },
  };
}
