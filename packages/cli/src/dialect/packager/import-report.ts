/** Collects the parts that an import did not take over. */

/** A part of a packager that the table does not have. */
export type OpenItem = {
  /** Of the packager file; undefined for the channel. */
  readonly line?: number;
  /** Such as `field 48.12`. */
  readonly subject: string;
  readonly reason: string;
};

export type ImportReport = {
  /** Fields of the message that the table has. */
  takenFields: number;
  readonly openItems: OpenItem[];
};

export const createImportReport = (): ImportReport => ({ takenFields: 0, openItems: [] });
