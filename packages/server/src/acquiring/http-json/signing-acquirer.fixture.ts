// A test acquirer that signs all of its responses correctly.
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  spiAnswerComponents,
  spiContentDigest,
  spiSignatureBase,
  spiSignatureInputHeader,
} from '@switchyard/contract';
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
    const digest = spiContentDigest(hash('sha256', body, 'base64'));
    const created = Math.floor(systemClock.now() / 1000);
    const input = spiSignatureInputHeader(spiAnswerComponents, { created, keyId });
    const base = spiSignatureBase(input, {
      '"@status"': String(status),
      '"content-digest"': digest,
      [spiAnswerComponents[2]]: String(request.headers['signature']).slice('spi='.length),
    });
    const signature = sign(null, Buffer.from(base ?? ''), privateKey).toString('base64');
    response.writeHead(status, {
      'content-digest': digest,
      'signature-input': `spi=${input}`,
      signature: `spi=:${signature}:`,
    });
    response.end(body);
  }

  return {
    publicKey: x,
    listener(request: IncomingMessage, response: ServerResponse): void {
      sendSignedResponse(request, response).catch((error) => response.destroy(error));
    },
  };
}
