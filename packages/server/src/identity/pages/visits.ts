// What every page needs to know of a request: the realm, the browser, the language.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ids } from '../../platform/index.ts';
import type { Origin } from '../accounts/index.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import {
  browserCookie,
  flowLanguageCookie,
  knownBrowserCookie,
  languageCookie,
  readCookies,
  setBrowser,
  setKnownBrowser,
  setLanguage,
} from './cookies.ts';
import { PageFault } from './faults.ts';
import { type FormTokens, isFromElsewhere } from './form-tokens.ts';
import { chooseLanguage, isLanguage, type Language, languages, type Words } from './words/index.ts';

export type PageRequest = FastifyRequest<{
  Params: Record<string, string>;
  Querystring: Record<string, string>;
  Body: Record<string, string>;
}>;

/** A request to a page, with what was found out about it. */
export type Visit = {
  readonly request: PageRequest;
  readonly reply: FastifyReply;
  /** Random and of this browser's own: forms and half-finished sign-ins hang on it. */
  readonly browser: string;
  /** Random: of a browser that has signed in before the value of its cookie, else a new one. */
  readonly knownBrowser: string;
  readonly language: Language;
  readonly words: Words;
  /** Without its query: where the page is found again. */
  readonly path: string;
};

export type RealmVisit = Visit & { readonly realm: Realm };

/** 43 characters of base64url: 32 random bytes. */
const browserPattern = /^[\w-]{43}$/;

export type Visits = ReturnType<typeof createVisits>;

type Deps = {
  readonly ids: Ids;
  readonly tokens: FormTokens;
  /** `https://login.example.com` */
  readonly origin: string;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
};

export function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? url;
}

type Raw = FastifyRequest['raw'];

/** `now`: chosen with this very request. */
export function languageOf(raw: Raw, now?: string, asked?: readonly string[]): Language {
  const cookies = readCookies(raw);
  return chooseLanguage({
    chosen: isLanguage(now) ? now : cookies.get(flowLanguageCookie),
    asked,
    kept: cookies.get(languageCookie),
    accept: raw.headers['accept-language'],
  });
}

export function createVisits({ ids, tokens, origin, findRealm }: Deps) {
  function browserOf({ raw }: FastifyRequest, reply: FastifyReply): string {
    const known = readCookies(raw).get(browserCookie);
    if (known !== undefined && browserPattern.test(known)) return known;
    const browser = ids.secret();
    setBrowser(reply.raw, browser);
    return browser;
  }

  function knownBrowserOf({ raw }: FastifyRequest): string {
    const known = readCookies(raw).get(knownBrowserCookie);
    return known !== undefined && browserPattern.test(known) ? known : ids.secret();
  }

  /** `asked`: what the application wishes, which counts less than a choice on the page. */
  function speak(request: PageRequest, asked?: readonly string[]) {
    const language = languageOf(request.raw, request.query['lang'], asked);
    return { language, words: languages[language] };
  }

  function open(request: FastifyRequest, reply: FastifyReply): Visit {
    const page = request as PageRequest;
    const { lang } = page.query;
    // A choice is kept: for this flow, and for later ones that ask for nothing.
    if (isLanguage(lang)) setLanguage(reply.raw, lang, pathOf(request));
    return {
      request: page,
      reply,
      browser: browserOf(request, reply),
      knownBrowser: knownBrowserOf(request),
      path: pathOf(request),
      ...speak(page),
    };
  }

  return {
    open,

    async openIn(request: FastifyRequest, reply: FastifyReply): Promise<RealmVisit> {
      const visit = open(request, reply);
      const realm = await findRealm(visit.request.params['realm'] ?? '');
      if (realm === undefined) throw new PageFault('realm');
      return { ...visit, realm };
    },

    speaking: <Kind extends Visit>(visit: Kind, asked: readonly string[]): Kind => ({
      ...visit,
      ...speak(visit.request, asked),
    }),

    tokenOf: ({ browser }: Visit, place: string): string => tokens.tokenOf(browser, place),

    /** @throws PageFault where the form was not made for this browser and this place */
    demandForm({ request, browser }: Visit, place: string): void {
      if (!tokens.isGood(request.body['token'], browser, place)) throw new PageFault('form');
    },

    /** Before anything else is looked at: no other site sends forms here. */
    demandOwnSite(request: FastifyRequest): void {
      if (isFromElsewhere(request.headers, origin)) throw new PageFault('form');
    },
  };
}

/** Where an attempt comes from, for limits and audit. */
export function originOf({ request, knownBrowser }: Visit, clientId?: string): Origin {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'],
    requestId: request.id,
    clientId,
    source: `browser ${knownBrowser}`,
  };
}

/** The browser was let in with the password: it is recognised when it comes again. */
export const rememberBrowser = ({ reply, knownBrowser }: Visit): void =>
  setKnownBrowser(reply.raw, knownBrowser);
