// Orders an export of about a million payments, and watches the server's memory until it is written.
import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from '../environment/send-single-request.ts';
import { readResidentMemory } from '../report/process-times.ts';
import { days } from './payment-mix.ts';

export type ExportFigures = {
  readonly rows: number;
  readonly bytes: number;
  readonly rowsPerSecond: number;
  /** Of the server, before it and at its highest. */
  readonly residentBeforeMib: number;
  readonly residentHighestMib: number;
};

const exportedRows = 1_000_000;
const dayMs = 86_400_000;
const lookEveryMs = 100;
const limitMs = 300_000;

export async function measureExport(
  api: ApiClient,
  serverPid: number,
  rows: number,
): Promise<ExportFigures> {
  const lengthMs = Math.min(1, exportedRows / rows) * days * dayMs;
  const from = new Date(Date.now() - lengthMs).toISOString();
  const residentBeforeMib = readResidentMemory(serverPid);
  let residentHighestMib = residentBeforeMib;
  const order = { format: 'Csv', transactions: { from } };
  const began = performance.now();
  const { exportId } = await api.call('POST', '/reporting/v1/exports', order);
  for (;;) {
    await pause(lookEveryMs);
    residentHighestMib = Math.max(residentHighestMib, readResidentMemory(serverPid));
    // The server may refuse this request when it is busy; the export continues.
    const path = `/reporting/v1/exports/${exportId}`;
    const exportView = await api.call('GET', path).catch((): Record<string, unknown> => ({}));
    const tookMs = performance.now() - began;
    if (exportView['state'] === 'Completed') {
      const written = Number(exportView['rows']);
      const rowsPerSecond = (written * 1000) / tookMs;
      const bytes = Number(exportView['bytes']);
      return { rows: written, bytes, rowsPerSecond, residentBeforeMib, residentHighestMib };
    }
    if (exportView['state'] === 'Failed' || tookMs > limitMs) {
      throw new Error(
        `the export is ${exportView['state']}: ${exportView['failure'] ?? 'too slow'}`,
      );
    }
  }
}
