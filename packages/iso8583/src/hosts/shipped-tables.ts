// The tables of packages/iso8583/tables, by name.
import base24 from '../../tables/base24.json' with { type: 'json' };
import ebcdicMainframe from '../../tables/ebcdic-mainframe.json' with { type: 'json' };
import iso1993Binary from '../../tables/iso1993-binary.json' with { type: 'json' };
import iso2003 from '../../tables/iso2003.json' with { type: 'json' };
import jposCmf from '../../tables/jpos-cmf.json' with { type: 'json' };
import postilion from '../../tables/postilion.json' with { type: 'json' };
import terminalBatch from '../../tables/terminal-batch.json' with { type: 'json' };

/** Tables as users write them: each has a base. */
export const shippedTables: { readonly [name: string]: { readonly [member: string]: unknown } } = {
  'iso1993-binary': iso1993Binary,
  iso2003,
  base24,
  postilion,
  'terminal-batch': terminalBatch,
  'ebcdic-mainframe': ebcdicMainframe,
  'jpos-cmf': jposCmf,
};
