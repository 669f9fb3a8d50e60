// A test acquirer that signs all of its responses correctly.
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { signSpiMessage } from '@switchyard/contract';
import { publicSigningKey, systemClock } from '../../platform/index.ts';

type StatusAndBody = readonly [status: number, answer: object];

/** @param respond returns status and body for a path and message id */
export function createSigningAcquirer(
  respond: (path: string, messageId: string) => StatusAndBody | Promise<StatusAndBody>,
) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const keyId = publicSigningKey(x).kid;

  async function sendSignedResponse(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { messageId } = JSON.parse(await text(request));
    const [status, answer] = await respond(request.url ?? '', messageId);
    const body = JSON.stringify(answer);
    const { headers } = signSpiMessage(
      {
        status,
        requestSignature: String(request.headers['signature']).slice('spi='.length),
        sha256: hash('sha256', body, 'base64'),
      },
      { created: Math.floor(systemClock.now() / 1000), keyId },
      (text) => sign(null, Buffer.from(text), privateKey).toString('base64'),
    );
    response.writeHead(status, headers);
    response.end(body);
  }

  return {
    publicKey: x,
    listener(request: IncomingMessage, response: ServerResponse): void {
      sendSignedResponse(request, response).catch((error) => response.destroy(error));
    },
  };
}
