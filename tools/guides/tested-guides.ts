// The pages whose commands a test runs: all `sh` blocks without the mark `not-run`.

type DemoGuide = {
  /** Another page, whose first block declares the functions that this page uses. */
  readonly setUp?: string;
  /** What the commands print. */
  readonly output: readonly RegExp[];
  /** The codes of refusals that the page shows; no others may be in the output. */
  readonly refusals?: readonly string[];
  /** A port of the page that the test replaces by a free one. */
  readonly port?: string;
};

const setUp = 'docs/how-to/acquirers/provision-a-merchant.md';

/** Pages that need only the demo, in the order in which `guides-in-the-demo.test.ts` runs them in one demo. */
export const demoGuides: Readonly<Record<string, DemoGuide>> = {
  'docs/explanation/idempotency.md': { setUp, output: [/"name":"Canal"/] },
  'docs/how-to/acquirers/approve-refunds.md': {
    output: [/kind: 'Refund',\n +status: 'Succeeded'/, /"status":"Used"/, /"status":"Revoked"/],
  },
  'docs/how-to/acquirers/certify-a-link.md': { output: [/^20 passed, 0 failed, 0 skipped, /m] },
  'docs/how-to/acquirers/compare-with-the-gateway-in-use.md': {
    output: [/^24 +Network international identifier +0 +0 +0 +3 +/m, /^exit code 8$/m],
  },
  'docs/how-to/acquirers/configure-a-service.md': {
    output: [
      /^values\/recipt is not a known field; perhaps you mean receipt/m,
      /countryCode: '250'/,
    ],
  },
  'docs/how-to/acquirers/connect-an-http-acquirer.md': {
    output: [/^(\d+) of \1 checks passed\.$/m],
    port: '8584',
  },
  'docs/how-to/acquirers/import-a-jpos-packager.md': {
    output: [/contains the host table nord-bank\.$/m],
  },
  'docs/how-to/acquirers/manage-users.md': {
    output: [/"username":"ann\.carter"/, /"name":"North Bakery"/, /"status":"Disabled"/],
    refusals: ['has_dependants'],
  },
  'docs/how-to/acquirers/provision-a-merchant.md': {
    output: [/"name":"Bread & Butter"/, /"acquirerMerchantId":"800000000004711"/],
    refusals: ['has_dependants'],
  },
  'docs/how-to/acquirers/settle-and-reconcile.md': {
    output: [
      /"state":"Acknowledged"/,
      /"outcome":"MissingHere"/,
      /"resolution":"AcquirerCorrects"/,
    ],
  },
  'docs/how-to/merchant-developers/confirm-a-sale.md': { output: [/^Captured\nCaptured$/m] },
  'docs/how-to/merchant-developers/develop-an-integration.md': {
    output: [
      /^PendingApproval\nEnabled\nCaptured\n/,
      /transaction\.captured +[\da-f-]{36} +#\d+\nMerchant$/m,
    ],
  },
  'docs/how-to/merchant-developers/receive-webhooks.md': {
    setUp,
    output: [/"owner":"Organization"/, /^event: merchant\./m],
  },
  'docs/how-to/merchant-developers/register-an-application.md': {
    output: [/^eyJ/, /"name":"Till 7, left"/],
  },
  'docs/how-to/merchant-developers/sign-in-with-openid-connect.md': {
    output: [/protocol\/openid-connect\/auth\?response_type=code&client_id=\S+&code_challenge=/],
  },
  'docs/how-to/merchant-developers/use-the-command-line.md': {
    output: [/resources in estate\.yaml/, /No differences/, /records in audit\.jsonl/],
  },
  'docs/how-to/operators/onboard-an-organisation.md': {
    output: [/"status":"Approving"/, /"items":\[\][\s\S]+"items":\[\]/],
  },
  'docs/how-to/security-officers/read-the-audit-log.md': { setUp, output: [/"action":"/] },
  'docs/how-to/service-providers/become-a-qr-provider.md': {
    output: [/^(\d+) of \1 checks passed\.$/m],
    port: '8586',
  },
  'docs/how-to/service-providers/declare-a-service.md': { output: [/"name":"Loyalty points"/] },
  'docs/how-to/terminal-vendors/connect-a-device.md': {
    output: [/^EMV terminal parameters Ready /m, /^304$/m, /"applied":true/],
  },
  'docs/how-to/terminal-vendors/sell-offline.md': {
    output: [/^Stored\n[\da-f-]{36}\nCaptured\nStored$/m, /"firstMissing":/],
  },
  'docs/how-to/terminal-vendors/write-a-device-application.md': {
    output: [/^Captured\nAskPin\nksn_reused\n541333\*{6}0012$/m],
  },
  'docs/reference/host-tables.md': {
    output: [
      /^The host table iso1987-binary is valid\.\nsale, 92 bytes$/m,
      /^ +2 {2}02 00 +MTI {2}Message type: 0200 · ISO 8583:1987, financial, request, from the acquirer$/m,
    ],
  },
  'docs/reference/simulators.md': {
    output: [/"capturedAmount":11500/, /"originalsLeftOut": 0/, /^in balance$/m],
    refusals: ['capture_amount_exceeded'],
  },
  // The last page: it ends all tokens.
  'docs/how-to/security-officers/manage-keys.md': {
    output: [/^\S+ +ES256 +Published /m, /^index of all cards .* Active /m],
  },
};

/** The other pages, each with its test beside this file. */
export const guidesWithOwnTest: Readonly<Record<string, string>> = {
  'README.md': 'readme.test.ts',
  'docs/how-to/acquirers/import-an-estate.md': 'guides-in-the-demo.test.ts',
  'docs/how-to/merchant-developers/pay-through-the-retail-api.md': 'guides-in-the-demo.test.ts',
  'docs/how-to/merchant-developers/take-a-qr-payment.md': 'how-to-pages.test.ts',
  'docs/how-to/operators/set-up-by-api.md': 'first-production-sale.test.ts',
  'docs/how-to/terminal-vendors/enrol-a-device.md': 'how-to-pages.test.ts',
  'docs/tutorials/connect-a-till-to-a-terminal.md': 'readme.test.ts',
  'docs/tutorials/connect-an-acquirer-host.md': 'how-to-pages.test.ts',
  'docs/tutorials/first-payment.md': 'readme.test.ts',
  'docs/tutorials/first-production-sale.md': 'first-production-sale.test.ts',
  'docs/tutorials/write-a-qr-provider.md': 'write-a-provider.test.ts',
};
