// Describes the token of a claim without its secret, so that the node can recheck it later.
import { defined } from '@switchyard/contract';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/schema';
import type { Caller } from '../../http/index.ts';
import type { Message } from '../nodes/backplane.ts';

export const ClaimTokenSchema = Type.Object({
  realm: Type.String(),
  organizationId: Type.String(),
  clientId: Type.String(),
  tokenId: Type.String(),
  /** Nodes of the previous release do not send this member. */
  keyId: Type.Optional(Type.String()),
  /**
   * Epoch milliseconds; the server does not recheck an expired token, and its sessions continue.
   */
  expiresAt: Type.Number(),
  /** Only in the token of a user. */
  userId: Type.Optional(Type.String()),
  signInId: Type.Optional(Type.String()),
  issuedAt: Type.Optional(Type.Number()),
});
export type ClaimToken = Readonly<Static<typeof ClaimTokenSchema>>;

/** @example const token = claimTokenOf(caller); */
export function claimTokenOf(caller: Caller): ClaimToken {
  const { realm, organizationId, clientId, tokenId, expiresAt } = caller;
  const { keyId, userId, signInId, issuedAt } = caller;
  return {
    realm,
    organizationId,
    clientId,
    tokenId,
    expiresAt,
    ...defined({ keyId, userId, signInId, issuedAt }),
  };
}

/** The message that a control connection now uses another token. */
export const tokenRenewedMessage = (
  sessionId: string,
  owner: string,
  token: ClaimToken,
): Message => ({
  kind: 'renewed',
  sessionId,
  owner,
  token,
});

/** @example const token = readRenewedToken(message); */
export function readRenewedToken({ token }: Message): ClaimToken | undefined {
  return Check(ClaimTokenSchema, token) ? token : undefined;
}
