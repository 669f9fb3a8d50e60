/** Runs the point of sale of the page, which sends through the Retail API to one terminal. */
import { useEffect, useState } from 'react';
import { isNotProcessed } from '../../../api/api-errors.ts';
import { fetchResponse } from '../../../api/client.ts';
import { randomHex } from '../../../session/random-values.ts';
import { discardLists } from '../../../table/row-store-cache.ts';
import {
  createPointOfSale,
  type DeliveryResult,
  type PointOfSale,
  type PointOfSaleView,
} from './point-of-sale.ts';

export type UsedPointOfSale = {
  /** Absent until the terminal has started. */
  readonly till: PointOfSale | undefined;
  readonly view: PointOfSaleView;
  readonly fault: unknown;
};

/** Longer than the time limit of the platform, so that the platform reports the timeout. */
const answerLimitMs = 165_000;
const waitSeconds = 2;
const saleIdName = 'switchyard-sale-id';
const saleIdBytes = 3;

/** The sale ID of this tab, kept across reloads. */
function ownSaleId(): string {
  const stored = sessionStorage.getItem(saleIdName);
  if (stored !== null) return stored;
  const made = `page-${randomHex(saleIdBytes).toLowerCase()}`;
  sessionStorage.setItem(saleIdName, made);
  return made;
}

/** Sends a message to the terminal through the Retail API and returns the response. */
async function sendToTerminal(
  text: string,
  { tsn, deviceId, saleId }: { tsn: string; deviceId: string; saleId: string },
): Promise<DeliveryResult> {
  try {
    const path = `/retail/v1/devices/${encodeURIComponent(tsn)}/sync`;
    const answer = await fetchResponse('POST', path, {
      query: { posId: saleId, waitSeconds },
      headers: { 'x-switchyard-till': deviceId },
      file: { content: new Blob([text]), type: 'application/json' },
      limitMs: answerLimitMs,
    });
    const responseText = await answer.text();
    return responseText === '' ? { kind: 'Taken' } : { kind: 'Answered', text: responseText };
  } catch (fault) {
    return { kind: isNotProcessed(fault) ? 'NotSent' : 'Unknown', fault };
  }
}

export function usePointOfSale(deviceId: string, tsn: string | undefined): UsedPointOfSale {
  const [till, setTill] = useState<PointOfSale | undefined>(undefined);
  const [view, setView] = useState<PointOfSaleView>({ exchanges: [] });
  const [fault, setFault] = useState<unknown>(undefined);
  useEffect(() => {
    if (tsn === undefined) return undefined;
    const saleId = ownSaleId();
    const made = createPointOfSale({
      tsn,
      saleId,
      storage: sessionStorage,
      send: (text) => sendToTerminal(text, { tsn, deviceId, saleId }),
      onFault: setFault,
      onChange(next) {
        setView(next);
        if (next.ended !== undefined) discardLists('["payments"');
      },
    });
    setTill(made);
    made.start();
    return made.stop;
  }, [deviceId, tsn]);
  return { till, view, fault };
}
