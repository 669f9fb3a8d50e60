/** Till and terminal of one device in one page: who has its name, its connection, and what both show. */
import { nowMs } from '../../../session/clock.ts';
import { newId, randomBelow, randomHex } from '../../../session/random-values.ts';
import { forgetLists } from '../../../table/row-store-cache.ts';
import { createTill, type Till, type TillView } from './point-of-sale/point-of-sale.ts';
import { sendTo } from './point-of-sale/send-to-terminal.ts';
import { type PageLock, pageLock } from './single-page-lock.ts';
import {
  askForTicket,
  createLink,
  type LinkState,
  type Socket,
} from './terminal/connector-connection.ts';
import { connectPlatform } from './terminal/payment-api.ts';
import { createTerminal, type Terminal } from './terminal/terminal.ts';
import type { Key, Presented, Screen } from './terminal/terminal-panel.ts';

export type StationView = {
  /** `Elsewhere`: another page of this browser is this terminal. */
  readonly link: LinkState | { readonly state: 'Elsewhere' };
  readonly tsn?: string;
  readonly screen: Screen;
  readonly till: TillView;
  /** What nobody expected. */
  readonly fault?: unknown;
};

export type Station = ReturnType<typeof openStation>;

const elsewhereAfterMs = 400;
const settleEveryMs = 10_000;
const saleIdName = 'switchyard-sale-id';
const saleIdBytes = 3;

const after = (ms: number, then: () => void): (() => void) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Of this tab, over reloads of it. */
function ownSaleId(): string {
  const stored = sessionStorage.getItem(saleIdName);
  if (stored !== null) return stored;
  const made = `page-${randomHex(saleIdBytes).toLowerCase()}`;
  sessionStorage.setItem(saleIdName, made);
  return made;
}

/** @example const station = openStation(deviceId); const stop = station.subscribe(draw); */
export function openStation(deviceId: string) {
  const listeners = new Set<() => void>();
  let view: StationView = {
    link: { state: 'Connecting' },
    screen: { state: 'Starting' },
    till: { exchanges: [] },
  };
  let terminal: Terminal | undefined;
  let till: Till | undefined;
  let isClosed = false;
  let isHeld = false;
  let leaving: Promise<void> = Promise.resolve();

  function change(next: Partial<StationView>): void {
    view = { ...view, ...next };
    for (const listener of listeners) listener();
  }

  const onFault = (fault: unknown) => change({ fault });

  function tillAt(tsn: string): Till {
    const saleId = ownSaleId();
    const made = createTill({
      tsn,
      saleId,
      now: nowMs,
      randomBelow,
      newId,
      after,
      onFault,
      send: sendTo({ tsn, deviceId, posId: saleId }),
      shelf: sessionStorage,
      onChange() {
        change({ till: made.view() });
        if (made.view().ended !== undefined) forgetLists('["payments"');
      },
    });
    change({ till: made.view() });
    return made;
  }

  function terminalAt(tsn: string): Terminal {
    const made = createTerminal({
      tsn,
      now: nowMs,
      randomHex,
      pause,
      onFault,
      platform: connectPlatform(deviceId),
      shelf: localStorage,
      send: (text) => void link.send(text),
    });
    made.panel.subscribe(() => {
      if (terminal === made) change({ screen: made.panel.screen() });
    });
    made.ready.catch(onFault);
    return made;
  }

  /** What its name is, the platform says with the first ticket. */
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

  /** Its memory is read anew by the next one, once this one has written its last. */
  function switchOff(why: 'Left' | 'Replaced'): Promise<void> {
    leaving = leaving.then(async () => {
      await terminal?.switchOff(why);
      terminal = undefined;
      change({ screen: { state: 'Off' } });
    });
    return leaving;
  }

  const link = createLink({
    async requestTicket() {
      const ticket = await askForTicket(deviceId);
      if (!isClosed && isHeld) wake(ticket.tsn);
      return ticket;
    },
    open: (url, protocols) => new WebSocket(url, [...protocols]) as Socket,
    after,
    heard: (text) => terminal?.receive(text),
    onState(state) {
      if (isClosed) return;
      change({ link: state });
      if (state.state === 'Replaced') switchOff('Replaced').catch(onFault);
    },
  });

  async function giveWay(): Promise<void> {
    link.unplug();
    await switchOff('Left');
    isHeld = false;
    lock.release();
    if (isClosed) return;
    change({ link: { state: 'Elsewhere' } });
    // It comes back by itself once the other page is closed.
    lock = newLock();
    acquireLock();
  }

  function newLock(): PageLock {
    return pageLock(`switchyard-terminal ${deviceId}`, () => void giveWay().catch(onFault));
  }

  let lock = newLock();

  /** Until this page has the name; it is told that another one has it. */
  function acquireLock(): void {
    if (isHeld) return;
    const stop = after(elsewhereAfterMs, () => {
      if (!isClosed) change({ link: { state: 'Elsewhere' } });
    });
    void lock.acquired.then(() => {
      stop();
      if (isClosed) return;
      isHeld = true;
      link.plugIn();
    });
  }

  acquireLock();
  const settling = setInterval(() => void terminal?.settle().catch(onFault), settleEveryMs);

  return {
    view: () => view,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    plugIn() {
      void leaving.then(() => {
        if (isHeld && !isClosed) link.plugIn();
      });
    },
    unplug: () => link.unplug(),
    /** From the other page of this browser. */
    takeOver: () => lock.demand(),
    present: (presented: Presented) => terminal?.panel.present(presented),
    press: (key: Key) => terminal?.panel.press(key),
    sign: () => terminal?.panel.sign(),
    till: () => till,
    forgetFault: () => change({ fault: undefined }),

    /** The page is left: what is not at the platform yet is not paid here. */
    close(): void {
      isClosed = true;
      clearInterval(settling);
      till?.stop();
      link.unplug();
      listeners.clear();
      void switchOff('Left').finally(() => lock.release());
    },
  };
}
