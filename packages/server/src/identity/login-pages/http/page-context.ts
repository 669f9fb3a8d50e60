// The context of a page request: realm, browser, language and texts.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { chooseLanguage, type Ids, isLanguage, type Language } from '../../../platform/index.ts';
import type { AttemptOrigin } from '../../accounts/index.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { PageError } from '../html/page-errors.ts';
import { type PageTexts, pageTexts } from '../locales/page-texts.ts';
import {
  browserCookie,
  flowLanguageCookie,
  knownBrowserCookie,
  languageCookie,
  readCookies,
  setBrowserCookie,
  setKnownBrowserCookie,
  setLanguageCookies,
} from './cookies.ts';
import { type CsrfTokens, isCrossSite } from './csrf-tokens.ts';

export type PageRequest = FastifyRequest<{
  Params: Record<string, string>;
  Querystring: Record<string, string>;
  Body: Record<string, string>;
}>;

/** A request to a page, with the data derived from it. */
export type PageContext = {
  readonly request: PageRequest;
  readonly reply: FastifyReply;
  /** Random per browser: forms and unfinished sign-ins belong to it. */
  readonly browserId: string;
  /** Random: the cookie value of a browser that has signed in before, otherwise a new value. */
  readonly knownBrowserId: string;
  readonly language: Language;
  readonly texts: PageTexts;
  /** The path without the query. */
  readonly path: string;
};

export type RealmPageContext = PageContext & { readonly realm: Realm };

/** 43 characters of base64url: 32 random bytes. */
const browserIdPattern = /^[\w-]{43}$/;

export type PageContexts = ReturnType<typeof createPageContexts>;

type Deps = {
  readonly ids: Ids;
  readonly tokens: CsrfTokens;
  /** For example `https://login.example.com`. */
  readonly origin: string;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
};

export function pathWithoutQuery({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? url;
}

type RawRequest = FastifyRequest['raw'];

/** `chosen`: the language that the user chooses with this request. */
export function requestLanguage(
  raw: RawRequest,
  chosen?: string,
  requested?: readonly string[],
): Language {
  const cookies = readCookies(raw);
  return chooseLanguage({
    chosen: isLanguage(chosen) ? chosen : cookies.get(flowLanguageCookie),
    requested,
    remembered: cookies.get(languageCookie),
    acceptLanguage: raw.headers['accept-language'],
  });
}

export function createPageContexts({ ids, tokens, origin, findRealm }: Deps) {
  function readOrCreateBrowserId({ raw }: FastifyRequest, reply: FastifyReply): string {
    const existing = readCookies(raw).get(browserCookie);
    if (existing !== undefined && browserIdPattern.test(existing)) return existing;
    const browserId = ids.secret();
    setBrowserCookie(reply.raw, browserId);
    return browserId;
  }

  function readOrCreateKnownBrowserId({ raw }: FastifyRequest): string {
    const existing = readCookies(raw).get(knownBrowserCookie);
    return existing !== undefined && browserIdPattern.test(existing) ? existing : ids.secret();
  }

  /** `requested`: the languages that the application requests; the choice of the user overrides them. */
  function chooseTexts(request: PageRequest, requested?: readonly string[]) {
    const language = requestLanguage(request.raw, request.query['lang'], requested);
    return { language, texts: pageTexts[language] };
  }

  function create(request: FastifyRequest, reply: FastifyReply): PageContext {
    const page = request as PageRequest;
    const { lang } = page.query;
    // The choice applies to this flow, and to later flows whose application requests no language.
    if (isLanguage(lang)) setLanguageCookies(reply.raw, lang, pathWithoutQuery(request));
    return {
      request: page,
      reply,
      browserId: readOrCreateBrowserId(request, reply),
      knownBrowserId: readOrCreateKnownBrowserId(request),
      path: pathWithoutQuery(request),
      ...chooseTexts(page),
    };
  }

  return {
    create,

    async createInRealm(request: FastifyRequest, reply: FastifyReply): Promise<RealmPageContext> {
      const context = create(request, reply);
      const realm = await findRealm(context.request.params['realm'] ?? '');
      if (realm === undefined) throw new PageError('userDomainUnknown');
      return { ...context, realm };
    },

    withRequestedLanguages: <Kind extends PageContext>(
      context: Kind,
      requested: readonly string[],
    ): Kind => ({
      ...context,
      ...chooseTexts(context.request, requested),
    }),

    csrfTokenOf: ({ browserId }: PageContext, flowKey: string): string =>
      tokens.create(browserId, flowKey),

    /** @throws PageError if the form was not created for this browser and flow */
    requireCsrfToken({ request, browserId }: PageContext, flowKey: string): void {
      if (!tokens.isValid(request.body['token'], browserId, flowKey))
        throw new PageError('formRejected');
    },

    /** Runs before the body is parsed: rejects forms from other sites. */
    requireSameSite(request: FastifyRequest): void {
      if (isCrossSite(request.headers, origin)) throw new PageError('formRejected');
    },
  };
}

/** The origin of a sign-in attempt, for limits and the sign-in history. */
export function attemptOriginOf(
  { request, knownBrowserId }: PageContext,
  clientId?: string,
): AttemptOrigin {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'],
    requestId: request.id,
    clientId,
    source: `browser ${knownBrowserId}`,
  };
}

/** After a right password: marks the browser as known for later sign-ins. */
export const rememberBrowser = ({ reply, knownBrowserId }: PageContext): void =>
  setKnownBrowserCookie(reply.raw, knownBrowserId);
