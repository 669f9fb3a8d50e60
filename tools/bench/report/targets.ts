// The targets of the platform, by benchmark; those of sales and reads come first.
export const targets = {
  kneePerSecond: 1000,
  ratioToBaseline: 0.5,
  p99Us: 50_000,
  serverCpuUs: 280,
  residentMib: 300,
  /** Relative to the fixed line and the bare server of the same run, which use no code of the platform. */
  saleGoals: {
    kneeToFixedLine: 0.8,
    kneeToBareServer: 0.75,
    serverCpuToBareServer: 1.6,
    postgresCpuToFixedLine: 1.3,
    walBytes: 2200,
    allocatedBytes: 45_000,
    p99ToBareServer: 2.5,
  },
  firstStartSeconds: 15,
  secondStartSeconds: 5,
  fullTables: { rows: 10_000_000, p99GrowthShare: 0.15, cpuGrowthShare: 0.15 },
  /** Server and PostgreSQL, per sale. */
  processesCpuGrowthShare: 0.1,
  readsPerSale: 3.5,
  /** Flat: over the time of the run the line through the samples rises by at most this. */
  memoryGrowthShare: 0.05,
  /** Tokens for each second of CPU; a kind without a target is measured for comparison. */
  tokens: {
    baseline: undefined,
    'client-credentials': 2500,
    refresh: 1000,
    password: 60,
    mtls: undefined,
    'mtls-handshake': undefined,
  },
  /** MiB of the whole process, with as many realms in use. */
  manyRealms: { realms: 2000, residentMib: 400 },
  estate: {
    searchP99Us: 20_000,
    configurationP99Us: 10_000,
    devicesPerSecond: 1000,
    /** A run with fewer of these is too small to be judged. */
    devices: 1_000_000,
    organizations: 2000,
  },
  /** `perMinute`: over one TCP connection of the link. */
  captureAll: { items: 100_000, captureSeconds: 90, p99GrowthShare: 0.5, perMinute: 10_000 },
  /** For the requests that terminals usually send. */
  pin: { perCpuSecond: 3000 },
  /** With 1 % of the requests sampled. */
  tracing: { shareOfSale: 0.03 },
  portal: { entryBytes: 200 * 1024, paintMs: 1_000, answerMs: 100 },
  qr: {
    createsPerSecond: 500,
    waiting: 5000,
    residentMib: 400,
    eventsPerSecond: 200,
    eventP99Us: 100_000,
  },
  relay: {
    ratioToBaseline: 0.9,
    idlePairs: 9000,
    idleMib: 750,
    floodMib: 30,
    backSeconds: 60,
    claimsPerSecond: 200,
    claimP99Us: 50_000,
  },
  reporting: {
    searchP99Us: 50_000,
    summaryP99Us: 100_000,
    exportedPerSecond: 40_000,
    /** Flat: the additional memory of the server during an export of a million rows. */
    exportGrowthMib: 64,
    /** A run with fewer is too small to be judged. */
    rows: 10_000_000,
  },
  /** With one of ten endpoints dead and one slow. */
  webhooks: {
    perSecond: 1500,
    p99Us: 1_000_000,
    /** Flat: the increase of the age of the outbox in a second. */
    ageSlopeMs: 5,
  },
} as const;
