// Signs documents with the key of the audit checkpoints.
import { jwsSigningInput } from '@switchyard/contract';
import { createSigningKey, type SigningKey } from '../platform/index.ts';

/** The key of checkpoints and documents; `GET /audit/v1/keys` publishes it. */
export const createAuditKey = (masterKey: Buffer): SigningKey =>
  createSigningKey(masterKey, 'audit checkpoints');

/** Returns a detached JWS in compact form (RFC 7515, appendix F). */
export function signDocument(masterKey: Buffer, document: Buffer): string {
  const { key, sign } = createAuditKey(masterKey);
  const text = jwsSigningInput(JSON.stringify({ alg: key.alg, kid: key.kid }), document);
  return `${text.slice(0, text.indexOf('.'))}..${sign(text)}`;
}
