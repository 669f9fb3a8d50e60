// The token that a session was claimed with, as the node of its device remembers it: no secret, and enough to ask about.
import { defined } from '@switchyard/contract';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/schema';
import type { Caller } from '../http/index.ts';
import type { Message } from './backplane.ts';

export const HeldTokenForm = Type.Object({
  realm: Type.String(),
  organizationId: Type.String(),
  clientId: Type.String(),
  tokenId: Type.String(),
  /** Nodes of the release before do not tell it. */
  keyId: Type.Optional(Type.String()),
  /** Epoch milliseconds: from there on it says nothing any more, and was good. */
  expiresAt: Type.Number(),
  /** Of a person's. */
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

/** News of a control connection that shows another token. */
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
