// Serves reference data, which is equal for every caller and cached by clients: countries, error codes, roles.
import { createHash } from 'node:crypto';
import {
  type Country,
  CountryList,
  ErrorCodeList,
  errorCodes,
  type GroupName,
  groupPermissions,
  groupRights,
  listErrorCodes,
  RoleList,
  type RoleName,
  rolePermissions,
  roleTitles,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };
import french from 'i18n-iso-countries/langs/fr.json' with { type: 'json' };
import { matchesIfNoneMatch, route } from '../http/index.ts';

/** The first of several names is the official one. */
type Names = Readonly<Record<string, string | readonly string[]>>;

const namesByLanguage = { en: english.countries, fr: french.countries } satisfies Record<
  string,
  Names
>;

type Language = keyof typeof namesByLanguage;
const languages = Object.keys(namesByLanguage) as Language[];

/** Codes of the data that ISO 3166 leaves to its users. */
const userAssigned: ReadonlySet<string> = new Set(['XK']);

function listCountries(language: Language): Country[] {
  const names: Names = namesByLanguage[language];
  return Object.entries(names)
    .filter(([code]) => !userAssigned.has(code))
    .map(([code, name]) => ({ code, display: typeof name === 'string' ? name : (name[0] ?? code) }))
    .sort((one, other) => (one.code < other.code ? -1 : 1));
}

/** The supported language that an Accept-Language header (RFC 9110) prefers; English otherwise. */
function preferredLanguage(header: string | undefined): Language {
  let preferred: Language = 'en';
  let most = 0;
  for (const range of (header ?? '').split(',')) {
    const [tag = '', ...parameters] = range
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    const language = languages.find((name) => tag === name || tag.startsWith(`${name}-`));
    if (language === undefined || !(Number(weight) > most)) continue;
    preferred = language;
    most = Number(weight);
  }
  return preferred;
}

// The public interface of reference: countries, error codes, roles and groups.

type Page = { readonly body: string; readonly entityTag: string };

/** Reference data changes with a release only. */
const cacheSeconds = 86_400;

function countryPage(language: Language): Page {
  const body = JSON.stringify(listCountries(language));
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  return { body, entityTag: `"${digest}"` };
}

const codes: ErrorCodeList = {
  items: listErrorCodes().map((code) => ({ code, ...errorCodes[code] })),
};

const roles: RoleList = {
  roles: (Object.keys(roleTitles) as RoleName[]).map((role) => ({
    role,
    title: roleTitles[role],
    permissions: [...rolePermissions[role]],
  })),
  groups: (Object.keys(groupRights) as GroupName[]).map((group) => ({
    group,
    rights: groupRights[group],
    permissions: [...groupPermissions[group]],
  })),
};

export function registerReferenceRoutes(app: FastifyInstance): void {
  registerCountries(app);
  registerPublished(app);
}

/** Error codes and roles need no token, like the OpenAPI document. */
function registerPublished(app: FastifyInstance): void {
  const common = {
    method: 'GET',
    tags: ['Reference data'],
    permission: 'public',
    errors: [],
    priority: 'list',
  } as const;

  route(app, {
    ...common,
    url: '/resources/v1/error-codes',
    operationId: 'listErrorCodes',
    summary: 'List the error codes',
    description: 'The closed list of error codes, in the order of the checks of a request.',
    response: { 200: ErrorCodeList },
    handler: async () => codes,
  });

  route(app, {
    ...common,
    url: '/resources/v1/roles',
    operationId: 'listRoles',
    summary: 'List the roles and groups',
    description: 'The roles of applications and the groups of users with their permissions.',
    response: { 200: RoleList },
    handler: async () => roles,
  });
}

function registerCountries(app: FastifyInstance): void {
  const pages = new Map(languages.map((language) => [language, countryPage(language)] as const));
  route(app, {
    method: 'GET',
    url: '/resources/v1/countries',
    operationId: 'listCountries',
    summary: 'List the countries',
    description:
      'Every country of ISO 3166-1 by its alpha-2 code, as a bare array sorted by code. Names are in English, or in French when Accept-Language prefers it. If-None-Match with the current ETag gets 304.',
    tags: ['Reference data'],
    permission: 'token',
    headers: { 'If-None-Match': 'The ETag of the list in the cache of the client.' },
    response: { 200: CountryList, 304: null },
    responseHeaders: { 200: ['ETag'] },
    errors: [],
    priority: 'list',
    handler: async ({ headers }, reply) => {
      const language = preferredLanguage(headers['accept-language']);
      const page = pages.get(language) ?? countryPage(language);
      reply.headers({
        etag: page.entityTag,
        'cache-control': `private, max-age=${cacheSeconds}`,
        vary: 'Accept-Language',
        'content-language': language,
      });
      if (matchesIfNoneMatch(headers['if-none-match'], page.entityTag))
        return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(page.body);
    },
  });
}
