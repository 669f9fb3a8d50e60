// Protects a sign-in in progress: only the browser that began it can complete it.
import { createHmac, hash } from 'node:crypto';
import { portalPath, providerPortalPath } from '../../identity/index.ts';
import {
  type Clock,
  decryptBytes,
  deriveKey,
  encryptBytes,
  type Ids,
} from '../../platform/index.ts';

/** The realm allows the same time for a sign-in. */
const flowMs = 1_800_000;
const addressCharsMax = 1024;
const stateCharsMax = 4096;

/** The encrypted content of `state`. */
type State = {
  readonly flowId: string;
  readonly userDomainId: string;
  readonly to: string;
  readonly goodUntil: number;
};

export type SignInProgress = Pick<State, 'userDomainId' | 'to'> & {
  readonly nonce: string;
  /** PKCE (RFC 7636). */
  readonly verifier: string;
};

export type AuthorizationState = {
  readonly state: string;
  readonly nonce: string;
  readonly challenge: string;
};

export type SignInStates = ReturnType<typeof createSignInStates>;

/**
 * Returns the wanted address if it belongs to one of the portals, otherwise the first page of the
 * portal. It never leads to another origin.
 */
export function portalPathOf(requested: string | undefined, origin: string): string {
  const text = requested ?? '';
  if (text.length > addressCharsMax || !URL.canParse(text, origin)) return portalPath;
  const { origin: targetOrigin, pathname, search, hash: part } = new URL(text, origin);
  const isOurs = [portalPath, providerPortalPath].some(
    (path) => pathname === path || pathname.startsWith(`${path}/`),
  );
  // These two paths begin or complete a sign-in, so a redirect to them would cause a loop.
  const isSignIn = /^\/portal\/(?:sign-in|callback)(?:\/|$)/.test(pathname);
  return targetOrigin === origin && isOurs && !isSignIn ? pathname + search + part : portalPath;
}

/**
 * The state is encrypted for one browser at one address. The verifier and the nonce are derived
 * from the browser and the state, so the server stores nothing. Parallel tabs do not conflict, and
 * a state is of no use in another browser.
 */
export function createSignInStates({
  clock,
  ids,
  masterKey,
}: {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly masterKey: Buffer;
}) {
  const sealKey = deriveKey(masterKey, 'portal-sign-in');
  const proofKey = deriveKey(masterKey, 'portal-sign-in-proofs');
  const encryptionContext = (browser: string, origin: string) =>
    `${hash('sha256', browser, 'base64url')} ${origin}`;
  const derived = (purpose: string, browser: string, flowId: string) =>
    createHmac('sha256', proofKey).update(`${purpose} ${browser} ${flowId}`).digest('base64url');

  return {
    begin(
      browser: string,
      origin: string,
      { userDomainId, to }: Pick<State, 'userDomainId' | 'to'>,
    ): AuthorizationState {
      const flowId = ids.secret();
      const state: State = { flowId, userDomainId, to, goodUntil: clock.now() + flowMs };
      const sealed = encryptBytes(
        sealKey,
        Buffer.from(JSON.stringify(state)),
        encryptionContext(browser, origin),
      );
      return {
        state: sealed.toString('base64url'),
        nonce: derived('nonce', browser, flowId),
        challenge: hash('sha256', derived('verifier', browser, flowId), 'base64url'),
      };
    },

    /**
     * Returns undefined if this browser began no such sign-in here, or if the state has expired.
     */
    read(browser: string, origin: string, state: string): SignInProgress | undefined {
      if (state.length > stateCharsMax || !/^[\w-]+$/.test(state)) return undefined;
      let text: string;
      try {
        const bytes = Buffer.from(state, 'base64url');
        text = decryptBytes(sealKey, bytes, encryptionContext(browser, origin)).toString();
      } catch {
        return undefined;
      }
      const { flowId, userDomainId, to, goodUntil } = JSON.parse(text) as State;
      if (goodUntil <= clock.now()) return undefined;
      return {
        userDomainId,
        to,
        nonce: derived('nonce', browser, flowId),
        verifier: derived('verifier', browser, flowId),
      };
    },
  };
}
