// Describes the token of a claim without its secret, so that the node can recheck it later.
import { defined } from '@switchyard/contract';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/schema';
import type { Caller } from '../../http/index.ts';
import type { Message } from '../nodes/backplane.ts';

export const HeldTokenForm = Type.Object({
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
export type HeldToken = Readonly<Static<typeof HeldTokenForm>>;

/** @example const token = heldTokenOf(caller); */
export function heldTokenOf(caller: Caller): HeldToken {
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
export const renewedMessage = (sessionId: string, owner: string, token: HeldToken): Message => ({
  kind: 'renewed',
  sessionId,
  owner,
  token,
});

/** @example const token = renewedIn(news); */
export function renewedIn({ token }: Message): HeldToken | undefined {
  return Check(HeldTokenForm, token) ? token : undefined;
}
