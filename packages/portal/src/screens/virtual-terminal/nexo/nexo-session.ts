/**
 * Runs the point of sale and the terminal of one device: page lock, connection and shared state.
 */
import { nowMs } from '../../../session/clock.ts';
import { newUuid, randomBelow, randomHex } from '../../../session/random-values.ts';
import { discardLists } from '../../../table/row-store-cache.ts';
import {
  createPointOfSale,
  type PointOfSale,
  type PointOfSaleView,
} from './point-of-sale/point-of-sale.ts';
import { createTerminalSender } from './point-of-sale/send-to-terminal.ts';
import { createPageLock, type PageLock } from './single-page-lock.ts';
import {
  type ConnectionState,
  createConnectorConnection,
  requestConnectionTicket,
  type Socket,
} from './terminal/connector-connection.ts';
import { createPaymentApi } from './terminal/payment-api.ts';
import { createTerminal, type Terminal } from './terminal/terminal.ts';
import type { PresentedCard, ScreenState, TerminalKey } from './terminal/terminal-panel.ts';

export type NexoSessionView = {
  /** `Elsewhere`: another page of this browser runs this terminal. */
  readonly link: ConnectionState | { readonly state: 'Elsewhere' };
  readonly tsn?: string;
  readonly screen: ScreenState;
  readonly pointOfSale: PointOfSaleView;
  /** An unexpected error. */
  readonly fault?: unknown;
};

export type NexoSession = ReturnType<typeof openNexoSession>;

const elsewhereAfterMs = 400;
const settleEveryMs = 10_000;
const saleIdName = 'switchyard-sale-id';
const saleIdBytes = 3;

const after = (ms: number, then: () => void): (() => void) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** The sale ID of this tab, kept across reloads. */
function ownSaleId(): string {
  const stored = sessionStorage.getItem(saleIdName);
  if (stored !== null) return stored;
  const made = `page-${randomHex(saleIdBytes).toLowerCase()}`;
  sessionStorage.setItem(saleIdName, made);
  return made;
}

/** @example const session = openNexoSession(deviceId); const stop = session.subscribe(render); */
export function openNexoSession(deviceId: string) {
  const listeners = new Set<() => void>();
  let view: NexoSessionView = {
    link: { state: 'Connecting' },
    screen: { state: 'Starting' },
    pointOfSale: { exchanges: [] },
  };
  let terminal: Terminal | undefined;
  let till: PointOfSale | undefined;
  let isClosed = false;
  let isHeld = false;
  let leaving: Promise<void> = Promise.resolve();

  function change(next: Partial<NexoSessionView>): void {
    view = { ...view, ...next };
    for (const listener of listeners) listener();
  }

  const onFault = (fault: unknown) => change({ fault });

  function tillAt(tsn: string): PointOfSale {
    const saleId = ownSaleId();
    const made = createPointOfSale({
      tsn,
      saleId,
      now: nowMs,
      randomBelow,
      newId: newUuid,
      after,
      onFault,
      send: createTerminalSender({ tsn, deviceId, posId: saleId }),
      storage: sessionStorage,
      onChange() {
        change({ pointOfSale: made.view() });
        if (made.view().ended !== undefined) discardLists('["payments"');
      },
    });
    change({ pointOfSale: made.view() });
    return made;
  }

  function terminalAt(tsn: string): Terminal {
    const made = createTerminal({
      tsn,
      now: nowMs,
      randomHex,
      pause,
      onFault,
      platform: createPaymentApi(deviceId),
      storage: localStorage,
      send: (text) => void link.send(text),
    });
    made.panel.subscribe(() => {
      if (terminal === made) change({ screen: made.panel.screen() });
    });
    made.ready.catch(onFault);
    return made;
  }

  /** The first ticket of the platform contains the terminal serial number. */
  function wake(tsn: string): void {
    if (terminal === undefined) {
      terminal = terminalAt(tsn);
      change({ tsn, screen: terminal.panel.screen() });
    }
    if (till === undefined) {
      till = tillAt(tsn);
      till.start();
    }
  }

  /** The next terminal reads the storage after this one has written its last state. */
  function switchOff(why: 'Left' | 'Replaced'): Promise<void> {
    leaving = leaving.then(async () => {
      await terminal?.switchOff(why);
      terminal = undefined;
      change({ screen: { state: 'Off' } });
    });
    return leaving;
  }

  const link = createConnectorConnection({
    async requestTicket() {
      const ticket = await requestConnectionTicket(deviceId);
      if (!isClosed && isHeld) wake(ticket.tsn);
      return ticket;
    },
    open: (url, protocols) => new WebSocket(url, [...protocols]) as Socket,
    after,
    onMessage: (text) => terminal?.receive(text),
    onState(state) {
      if (isClosed) return;
      change({ link: state });
      if (state.state === 'Replaced') switchOff('Replaced').catch(onFault);
    },
  });

  async function giveWay(): Promise<void> {
    link.disconnect();
    await switchOff('Left');
    isHeld = false;
    lock.release();
    if (isClosed) return;
    change({ link: { state: 'Elsewhere' } });
    // This page continues after the other page is closed.
    lock = newLock();
    acquireLock();
  }

  function newLock(): PageLock {
    return createPageLock(`switchyard-terminal ${deviceId}`, () => void giveWay().catch(onFault));
  }

  let lock = newLock();

  /** Waits for the lock, and shows that another page has it. */
  function acquireLock(): void {
    if (isHeld) return;
    const stop = after(elsewhereAfterMs, () => {
      if (!isClosed) change({ link: { state: 'Elsewhere' } });
    });
    void lock.acquired.then(() => {
      stop();
      if (isClosed) return;
      isHeld = true;
      link.connect();
    });
  }

  acquireLock();
  const settling = setInterval(
    () => void terminal?.sendUnsentReversals().catch(onFault),
    settleEveryMs,
  );

  return {
    view: () => view,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    connect() {
      void leaving.then(() => {
        if (isHeld && !isClosed) link.connect();
      });
    },
    disconnect: () => link.disconnect(),
    /** Takes the terminal from the other page of this browser. */
    takeOver: () => lock.requestRelease(),
    present: (presented: PresentedCard) => terminal?.panel.present(presented),
    press: (key: TerminalKey) => terminal?.panel.press(key),
    sign: () => terminal?.panel.sign(),
    pointOfSale: () => till,
    clearError: () => change({ fault: undefined }),

    /** The page is closed: a payment that the platform has not received is not made. */
    close(): void {
      isClosed = true;
      clearInterval(settling);
      till?.stop();
      link.disconnect();
      listeners.clear();
      void switchOff('Left').finally(() => lock.release());
    },
  };
}
