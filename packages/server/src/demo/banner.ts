// Renders the text that the demo prints: portal users, a first request, and on request all addresses and secrets.
import { dirname } from 'node:path';
import { demoApplications, demoMerchants } from './demo-data.ts';
import type { DemoFacts } from './demo-json.ts';
import { demoUsers, providerUsers } from './demo-users.ts';
import { oneTimePasswordAt } from './seed-users.ts';

export type BannerPaths = {
  readonly demoFile: string;
  readonly ledgerDir: string;
  readonly acquirerPort: number;
  /** Omitted if the demo started no QR provider. */
  readonly qrProvider?: { readonly url: string; readonly dir: string };
};

export type BannerStyle = {
  readonly hasColours: boolean;
  /** Adds all addresses, applications, merchants and devices. */
  readonly isVerbose: boolean;
  /** The address of the documentation has no pages before the end of the first build. */
  readonly isDocumentationBeingBuilt: boolean;
  /** Epoch milliseconds; decides the one-time passwords and the expiry year of the example card. */
  readonly nowMs: number;
};

type Line = readonly string[];

const indent = '  ';
const columnGap = '  ';
/**
 * A published test card number, written so that a search for card numbers does not find it here.
 */
const testCard = `4${'1'.repeat(15)}`;
const validYears = 4;

/** Each column is as wide as its longest text; the last column has no padding. */
function columns(lines: readonly Line[]): string[] {
  const widths: number[] = [];
  for (const line of lines) {
    for (const [column, text] of line.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, text.length);
    }
  }
  return lines.map((line) =>
    line
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join(columnGap)
      .trimEnd(),
  );
}

function documentationAddress({ baseUrl }: DemoFacts, style: BannerStyle): string {
  const note = style.isDocumentationBeingBuilt ? ' (is being built, ready in about a minute)' : '';
  return `${baseUrl}/docs${note}`;
}

function addressLines(facts: DemoFacts, paths: BannerPaths, style: BannerStyle): Line[] {
  return [
    [facts.authUrl === facts.baseUrl ? 'API and OAuth' : 'API', facts.baseUrl],
    ...(facts.authUrl === facts.baseUrl ? [] : [['OAuth', facts.authUrl]]),
    ['Portal', facts.portalUrl],
    ['Provider portal', facts.providerPortalUrl],
    ['Documentation', documentationAddress(facts, style)],
    ['API reference', `${facts.baseUrl}/docs/api`],
    ['Sign-up', `${facts.authUrl}/sign-up`],
    ['Devices (mutual TLS)', facts.deviceAuthUrl],
    ['Acquirer simulator', `127.0.0.1:${paths.acquirerPort}, ledger in ${paths.ledgerDir}`],
    ...(paths.qrProvider === undefined
      ? []
      : [['QR provider', `${paths.qrProvider.url}, data in ${paths.qrProvider.dir}`]]),
    ['Metrics and health', `${facts.metricsUrl}/metrics`],
    ...(facts.caFile === undefined ? [] : [['Certificate authority', facts.caFile]]),
    ['Sent mails (files)', facts.mailDir],
    ['This output as JSON', paths.demoFile],
    ['User domain', facts.userDomainId],
    ['Organisation', facts.organizationId],
  ];
}

/** A secret has its own line, because there is no space beside a long client ID. */
function applicationLines(facts: DemoFacts): Line[] {
  return demoApplications.flatMap(({ key, clientId, description }) => [
    [key, clientId, description],
    ['', facts.applications[key]?.clientSecret ?? '(no secret: public client)'],
  ]);
}

/** The service provider is a separate organisation with its own user domain. */
function providerLines({ serviceProvider }: DemoFacts, at: number): Line[] {
  const { organizationId, userDomainId, application, users } = serviceProvider;
  return [
    ['Organisation', organizationId],
    ['User domain', userDomainId],
    ...userLines(users, at).map(([name = '', ...rest]) => [`User ${name}`, rest.join(columnGap)]),
    [`Application ${application.clientId}`, application.clientSecret ?? ''],
  ];
}

function userLines(users: DemoFacts['users'], at: number): Line[] {
  return users.map(({ username, password, otpSecret }) => {
    const accounts = [...demoUsers, ...providerUsers];
    const account = accounts.find((one) => one.username === username);
    return [
      username,
      password,
      otpSecret === undefined ? '-' : oneTimePasswordAt(otpSecret, at),
      account === undefined ? '' : `${account.group}, ${account.employer}`,
    ];
  });
}

function merchantLines(): Line[] {
  return demoMerchants.flatMap(({ merchantId, name, stores }) => [
    [name, merchantId, 'merchant'],
    ...stores.map((store) => [`${indent}${store.name}`, store.storeId, 'store']),
  ]);
}

function deviceLines(facts: DemoFacts): Line[] {
  const storeNames = new Map(
    demoMerchants.flatMap(({ stores }) => stores.map(({ storeId, name }) => [storeId, name])),
  );
  return facts.devices.map(({ tsn, logicalDeviceId, storeId }) => [
    tsn,
    logicalDeviceId,
    storeNames.get(storeId) ?? '',
  ]);
}

/** Inside single quotes, a shell changes no character except the quote itself. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function firstSale(facts: DemoFacts, year: number): string[] {
  const { clientId = '', clientSecret = '' } = facts.applications['merchant'] ?? {};
  const { caFile } = facts;
  const trust = caFile === undefined ? '' : ' --cacert "$CA"';
  return [
    ...(caFile === undefined ? [] : [`CA=${quoted(caFile)}`]),
    `TOKEN=$(curl -s${trust} ${facts.authUrl}/oauth2/v1/${facts.userDomainId}/token \\`,
    `  -d grant_type=client_credentials -d client_id=${clientId} \\`,
    `  -d client_secret=${clientSecret} \\`,
    `  | sed -E 's/.*"access_token" *: *"([^"]+)".*/\\1/')`,
    `curl -s -w '\\n'${trust} ${facts.baseUrl}/payment/v1/transactions/process \\`,
    `  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{`,
    `  "clientTransactionId":"'$(node -p 'crypto.randomUUID()')'","amount":1050,"currency":"EUR",`,
    '  "entryMode":"Keyed","instrument":{"card":',
    `  {"number":"${testCard}","expiryMonth":12,"expiryYear":${year + validYears}}}}'`,
  ];
}

/** One user for each kind of portal, as a person signs in. */
function signInLines(facts: DemoFacts, at: number): Line[] {
  const { serviceProvider, userDomainId } = facts;
  const users: [DemoFacts['users'][number] | undefined, string, string][] = [
    [facts.users.find(({ otpSecret }) => otpSecret === undefined), userDomainId, 'merchant'],
    [facts.users.find(({ otpSecret }) => otpSecret !== undefined), userDomainId, 'acquirer'],
    [serviceProvider.users[0], serviceProvider.userDomainId, 'service provider'],
  ];
  return users.flatMap(([user, domain, view]) =>
    user === undefined
      ? []
      : [
          [
            view,
            `${user.username}@${domain}`,
            user.password,
            user.otpSecret === undefined
              ? 'no one-time password'
              : oneTimePasswordAt(user.otpSecret, at),
          ],
        ],
  );
}

/** The whole table of addresses, users, secrets and identifiers. */
function allDetails(
  facts: DemoFacts,
  paths: BannerPaths,
  style: BannerStyle,
  section: (title: string, lines: readonly string[]) => string[],
): string[] {
  return [
    ...section('Addresses', columns(addressLines(facts, paths, style))),
    ...section(
      'Applications (client id, and its client secret below)',
      columns(applicationLines(facts)),
    ),
    ...section(
      `Users of the domain ${facts.userDomainId} (password, current one-time password, group)`,
      columns(userLines(facts.users, style.nowMs)),
    ),
    ...section(
      `${facts.serviceProvider.name}, a service provider (its portal: ${facts.providerPortalUrl})`,
      columns(providerLines(facts, style.nowMs)),
    ),
    ...section('Merchants and their stores', columns(merchantLines())),
    ...section('Devices (terminal serial number, deviceId)', columns(deviceLines(facts))),
  ];
}

/** Returns the whole text, with a line break at its end. */
export function renderBanner(facts: DemoFacts, paths: BannerPaths, style: BannerStyle): string {
  const bold = (text: string) => (style.hasColours ? `\u001b[1m${text}\u001b[22m` : text);
  const dim = (text: string) => (style.hasColours ? `\u001b[2m${text}\u001b[22m` : text);
  const section = (title: string, lines: readonly string[]) => [
    '',
    bold(title),
    ...lines.map((line) => `${indent}${line}`),
  ];
  const sale = firstSale(facts, new Date(style.nowMs).getUTCFullYear());
  return [
    '',
    bold('Switchyard is ready. This demo has a simulated acquirer, and no real money moves.'),
    ...(style.isVerbose ? allDetails(facts, paths, style, section) : []),
    ...section('Portal (user, password, one-time password)', [
      facts.portalUrl,
      ...columns(signInLines(facts, style.nowMs)),
    ]),
    `${indent}A one-time password is valid for 30 seconds. Copy the otpSecret of the user from demo.json to an`,
    `${indent}authenticator app for later ones.`,
    '',
    bold('A first sale: paste this into another shell'),
    dim('—'.repeat(60)),
    // These lines have no indent, so that a user can paste them unchanged.
    ...sale,
    dim('—'.repeat(60)),
    ...section('Documentation', [documentationAddress(facts, style)]),
    ...section('Data: kept for the next start; delete the directory to begin again', [
      dirname(paths.demoFile),
    ]),
    '',
    bold('Ctrl+C stops the platform.'),
    ...(style.isVerbose
      ? []
      : [
          'npm start -- --verbose prints all addresses, applications, merchants and devices; so does demo.json.',
        ]),
    '',
  ].join('\n');
}
