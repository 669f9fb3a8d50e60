// A QR provider with a real server whose responses the test controls.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes
export type Json = Record<string, any>;

export type ProviderCall = {
  readonly kind: 'create' | 'status' | 'cancel' | 'refund' | 'refundStatus' | 'health';
  readonly transactionId: string;
  readonly body: Json;
};

/** A status with a body; 'silent' sends no response, 'cut' closes the connection. */
export type Reply = { readonly status?: number; readonly body: unknown } | 'silent' | 'cut';
export type Script = (call: ProviderCall) => Reply | undefined | Promise<Reply | undefined>;

export type QrProvider = {
  readonly url: string;
  readonly calls: ProviderCall[];
  of(kind: ProviderCall['kind'], transactionId?: string): ProviderCall[];
  /** The responses of the test; the provider answers all other calls as usual. */
  script: Script;
  close(): Promise<void>;
};

export const qrBase = '/qrcode-payment/v1/transactions';

/** The code of the EMVCo sample. */
export const sampleCode =
  '00020101021229300012D156000000000510A93FO3230Q31280012D15600000001030812345678520441115802CN5914BEST TRANSPORT6007BEIJING64200002ZH0104最佳运输0202北京540523.7253031565502016233030412340603***0708A60086670902ME91320016A0112233449988770708123456786304A13A';

export const nameOf = (transactionId: string): string => `P-${transactionId}`;

function callOf(request: IncomingMessage, text: string): ProviderCall | undefined {
  const path = String(request.url).split('?')[0] ?? '';
  const [, root, id = '', part, refund] = path.replace(/^\/spi/, '').split('/');
  const body: Json = text === '' ? {} : JSON.parse(text);
  if (path === '/spi') return undefined;
  if (root === 'health') return { kind: 'health', transactionId: '', body };
  if (id === '') return { kind: 'create', transactionId: body['platformTransactionId'], body };
  if (part === 'cancel') return { kind: 'cancel', transactionId: id, body };
  if (refund !== undefined) {
    return { kind: 'refundStatus', transactionId: id, body: { refundId: refund } };
  }
  if (part === 'refunds') return { kind: 'refund', transactionId: id, body };
  return { kind: 'status', transactionId: id, body };
}

/** Returns a code, reports no change, and accepts each cancel and refund. */
function usual({ kind, transactionId, body }: ProviderCall): Reply {
  const providerTransactionId = nameOf(transactionId);
  const display = { type: 'text/emvqr', data: sampleCode };
  switch (kind) {
    case 'create':
      return { body: { providerTransactionId, status: 'Pending', display } };
    case 'cancel':
      return { body: { providerTransactionId, status: 'Cancelled' } };
    case 'refund':
    case 'refundStatus':
      return { body: { refundId: body['refundId'], status: 'Completed' } };
    case 'health':
      return { body: { status: 'Up' } };
    default:
      return { body: { providerTransactionId, status: 'Pending' } };
  }
}

const nothingRefunded = { status: 404, body: { code: 'refund_not_found' } };

export async function openQrProvider(): Promise<QrProvider> {
  const calls: ProviderCall[] = [];
  /** The ids of refused refunds; their status request returns 404. */
  const refused = new Set<string>();
  async function answer(request: IncomingMessage, response: ServerResponse, text: string) {
    const call = callOf(request, text);
    response.setHeader('content-type', 'application/json');
    // The call is the activation of the service.
    if (call === undefined) return response.end(JSON.stringify({ status: 'Accepted' }));
    calls.push(call);
    const isRefused = call.kind === 'refundStatus' && refused.has(call.body['refundId']);
    const otherwise = isRefused ? nothingRefunded : usual(call);
    const reply = (await provider.script(call)) ?? otherwise;
    if (reply === 'silent') return undefined;
    if (reply === 'cut') return response.destroy();
    const { status = 200 } = reply;
    if (call.kind === 'refund' && status >= 400 && status < 500) refused.add(call.body['refundId']);
    response.statusCode = status;
    const { body } = reply;
    return response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => void answer(request, response, Buffer.concat(parts).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: QrProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/spi`,
    calls,
    of: (kind, id) =>
      calls.filter((each) => each.kind === kind && (id === undefined || each.transactionId === id)),
    script: () => undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}
