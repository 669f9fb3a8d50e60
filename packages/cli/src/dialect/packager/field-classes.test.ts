// Each field class of jPOS, with bytes written by hand from its documented meaning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileDialect, compileSubFields, iso1987Ascii } from '@switchyard/iso8583';
import { convertPackager } from './convert-packager.ts';
import {
  bitmapClasses,
  type FieldAttributes,
  formatOfClass,
  leadClasses,
  taggedClass,
} from './field-classes.ts';
import { readPackager } from './read-packager.ts';

type Case = readonly [
  className: string,
  length: number,
  value: string,
  wire: string,
  attributes?: Partial<FieldAttributes>,
];

const padded = { pad: true };

const cases: readonly Case[] = [
  // Fixed lengths.
  ['IF_CHAR', 5, 'AB   ', '4142202020'],
  ['IF_ECHAR', 5, 'A[   ', 'c1ad404040'],
  ['IF_NOP', 0, '', ''],
  ['IFA_NUMERIC', 6, '000123', '303030313233'],
  ['IFA_AMOUNT', 9, 'D00000042', '443030303030303432'],
  ['IFA_AMOUNT2003', 16, '9782000000001234', '39373832303030303030303031323334'],
  ['IFA_BINARY', 2, 'CAFE', '43414645'],
  ['IFB_NUMERIC', 4, '1234', '1234'],
  ['IFB_NUMERIC', 3, '123', '1230'],
  ['IFB_NUMERIC', 3, '123', '0123', padded],
  ['IFB_FNUMERIC', 3, '123', '123f'],
  ['IFB_FNUMERIC', 3, '123', '0123', padded],
  ['IFB_AMOUNT', 9, 'C12345678', '4312345678'],
  ['IFB_AMOUNT2003', 16, '9782000000001234', '9782000000001234'],
  ['IFB_BINARY', 2, 'CAFE', 'cafe'],
  ['IFB_HEX', 4, 'CAFE', 'cafe'],
  ['IFE_CHAR', 5, 'AB   ', 'c1c2404040'],
  ['IFE_NUMERIC', 4, '0012', 'f0f0f1f2'],
  ['IFE_SIGNED_NUMERIC', 4, 'D0012', 'f0f0f1d2'],
  ['IFE_SIGNED_NUMERIC', 4, '00012', 'f0f0f1f2'],
  ['IFE_AMOUNT', 4, 'C123', 'c3f1f2f3'],
  ['IFE_BINARY', 2, 'CAFE', 'c3c1c6c5'],
  // ASCII lengths.
  ['IFA_LCHAR', 9, 'AB', '324142'],
  ['IFA_LLCHAR', 99, 'AB', '30324142'],
  ['IFA_LLLCHAR', 999, 'AB', '3030324142'],
  ['IFA_LLLLCHAR', 9999, 'AB', '303030324142'],
  ['IFA_LLLLLCHAR', 9999, 'AB', '30303030324142'],
  ['IFA_LLLLLLCHAR', 9999, 'AB', '3030303030324142'],
  ['IFA_LBINARY', 9, 'CAFE', '32cafe'],
  ['IFA_LLBINARY', 99, 'CAFE', '3032cafe'],
  ['IFA_LLLBINARY', 999, 'CAFE', '303032cafe'],
  ['IFA_LLLLBINARY', 9999, 'CAFE', '30303032cafe'],
  ['IFA_LLLLLBINARY', 9999, 'CAFE', '3030303032cafe'],
  ['IFA_LLLLLLBINARY', 9999, 'CAFE', '303030303032cafe'],
  ['IFA_LLABINARY', 99, 'CAFE', '303243414645'],
  ['IFA_LLLABINARY', 999, 'CAFE', '30303243414645'],
  ['IFA_LLNUM', 19, '123', '3033313233'],
  ['IFA_LLLNUM', 19, '123', '303033313233'],
  ['IFA_LLBNUM', 19, '1230', '30341230'],
  ['IFA_LLBNUM', 19, '0123', '30340123', padded],
  ['IFA_FLLCHAR', 4, 'AB', '303241422020'],
  ['IFA_FLLNUM', 4, '12', '303231322020'],
  // BCD and binary lengths.
  ['IFB_LLCHAR', 99, 'AB', '024142'],
  ['IFB_LLLCHAR', 999, 'AB', '00024142'],
  ['IFB_LLLLCHAR', 9999, 'AB', '00024142'],
  ['IFB_LLLLLLCHAR', 9999, 'AB', '0000024142'],
  ['IFB_LLBINARY', 99, 'CAFE', '02cafe'],
  ['IFB_LLLBINARY', 999, 'CAFE', '0002cafe'],
  ['IFB_LLLLBINARY', 9999, 'CAFE', '0002cafe'],
  ['IFB_LLNUM', 19, '123', '031230'],
  ['IFB_LLNUM', 19, '123', '030123', padded],
  ['IFB_LLLNUM', 19, '123', '00031230'],
  ['IFB_FLLNUM', 19, '123', '03123f'],
  ['IFB_FLLLNUM', 19, '123', '0003123f'],
  ['IFB_LLHEX', 49, 'CAFE', '04cafe'],
  ['IFB_LLLHEX', 99, 'CAFE', '0004cafe'],
  ['IFB_LLHCHAR', 255, 'AB', '024142'],
  ['IFB_LLLHCHAR', 9999, 'AB', '00024142'],
  ['IFB_LLHECHAR', 255, 'AB', '02c1c2'],
  ['IFB_LLLHECHAR', 9999, 'AB', '0002c1c2'],
  ['IFB_LLHBINARY', 255, 'CAFE', '02cafe'],
  ['IFB_LLHBINARY', 200, 'CAFE', '03cafe', { inclusive: true }],
  ['IFB_LLLHBINARY', 9999, 'CAFE', '0002cafe'],
  ['IFB_LLHNUM', 255, '123', '031230'],
  ['IFB_LLLHNUM', 9999, '123', '00030123', padded],
  ['IFB_LLHFBINARY', 4, 'CAFE', '02cafe0000'],
  // EBCDIC lengths.
  ['IFE_LCHAR', 9, 'AB', 'f2c1c2'],
  ['IFE_LLCHAR', 99, 'AB', 'f0f2c1c2'],
  ['IFE_LLLCHAR', 999, 'AB', 'f0f0f2c1c2'],
  ['IFE_LLLLCHAR', 9999, 'AB', 'f0f0f0f2c1c2'],
  ['IFE_LBINARY', 9, 'CAFE', 'f2cafe'],
  ['IFE_LLBINARY', 99, 'CAFE', 'f0f2cafe'],
  ['IFE_LLLBINARY', 999, 'CAFE', 'f0f0f2cafe'],
  ['IFE_LLLLBINARY', 9999, 'CAFE', 'f0f0f0f2cafe'],
  ['IFE_LLLEBINARY', 999, 'AB', 'f0f0f2c1c2'],
  ['IFE_LNUM', 9, '12', 'f2f1f2'],
  ['IFE_LLNUM', 19, '12', 'f0f2f1f2'],
  ['IFE_LLLNUM', 19, '12', 'f0f0f2f1f2'],
  ['IFEA_LLCHAR', 99, 'AB', 'f0f24142'],
  ['IFAE_LLCHAR', 99, 'AB', '3032c1c2'],
  ['IFEB_LLNUM', 19, '123', 'f0f2123f'],
  ['IFEB_LLLNUM', 19, '1234', 'f0f0f21234'],
];

for (const [className, length, value, wire, attributes] of cases) {
  test(`${className}${attributes === undefined ? '' : ` ${JSON.stringify(attributes)}`} is ${wire}`, () => {
    const format = formatOfClass(className, {
      length,
      pad: false,
      inclusive: false,
      ...attributes,
    });
    assert.ok(format);
    const fields = { 60: { name: 'x', ...format } };
    const dialect = compileDialect({ ...iso1987Ascii, fields });
    const bytes = dialect.encode({ mti: '0100', fields: { 60: value } });
    assert.equal(bytes.toString('hex', 20), wire);
    assert.equal(dialect.decode(bytes).fields[60], value);
  });
}

type TaggedCase = readonly [className: string, value: string, wire: string];

/** The tag is 7. */
const taggedCases: readonly TaggedCase[] = [
  ['IFA_TTLCHAR', 'AB', '3037324142'],
  ['IFA_TTLLCHAR', 'AB', '303730324142'],
  ['IFA_TTLLLCHAR', 'AB', '30373030324142'],
  ['IFA_TTLLLLCHAR', 'AB', '3037303030324142'],
  ['IFA_TTTLLLCHAR', 'AB', '3030373030324142'],
  ['IFA_TTLBINARY', 'CAFE', '303732cafe'],
  ['IFA_TTLLBINARY', 'CAFE', '30373032cafe'],
  ['IFA_TTLLLBINARY', 'CAFE', '3037303032cafe'],
  ['IFA_TTLLLLBINARY', 'CAFE', '303730303032cafe'],
  ['IFMC_LLCHAR', 'AB', '303730324142'],
  ['IFMC_LLLCHAR', 'AB', '30373030324142'],
  ['IFMC_LLBINARY', 'CAFE', '30373032cafe'],
  ['IFMC_LLLBINARY', 'CAFE', '3037303032cafe'],
  ['IFEMC_LLCHAR', 'AB', '3037f0f2c1c2'],
  ['IFEMC_LLLCHAR', 'AB', 'f0f0f0f7f0f0f2c1c2'],
  ['IFEPE_LLCHAR', 'AB', 'f0f7f0f2c1c2'],
  ['IFEPE_LLLCHAR', 'AB', 'f0f0f7f0f0f2c1c2'],
  ['IFEPE_LLBINARY', 'CAFE', 'f0f7f0f2cafe'],
  ['IFIPM_LLLCHAR', 'AB', '303030373030324142'],
  ['IFEP_LLCHAR', 'AB', '303430374142'],
  ['IFEP_LLLCHAR', 'AB', 'f0f0f4f0f74142'],
  ['IFEP_LLLBINARY', 'CAFE', 'f0f0f4f0f7cafe'],
  ['IFELPE_LLLCHAR', 'AB', 'f0f0f4f0f7c1c2'],
];

const importOptions = { name: 'x', base: 'iso1987-ascii', channel: 'Post' } as const;

/** The structure of field 60 with these sub-fields. */
function nestedField(fieldClass: string, packager: string, inner: string) {
  const xml = `<isopackager>
    <isofieldpackager id="60" length="999" name="Nested" class="org.jpos.iso.${fieldClass}"
      packager="org.jpos.iso.packager.${packager}">${inner}</isofieldpackager></isopackager>`;
  const { table, report } = convertPackager(readPackager('x.xml', xml), importOptions);
  const { fields } = table['messages'] as {
    fields: Record<string, Parameters<typeof compileSubFields>[0]>;
  };
  return { field: fields['60'] ?? assert.fail(), report };
}

for (const [className, value, wire] of taggedCases) {
  test(`${className} with the tag 7 is ${wire}`, () => {
    const inner = `<isofield id="7" length="99" name="Seven" class="org.jpos.iso.${className}"/>`;
    const packager = 'GenericTaggedFieldsPackager';
    const { field, report } = nestedField('IFA_LLLBINARY', packager, inner);
    assert.deepEqual(report.openItems, []);
    const { subFields } = field;
    assert.ok(subFields?.type === 'Tags');
    const { encode, decode, nameOf } = compileSubFields(field);
    const tag = '7'.padStart(subFields.tagSize, '0');
    assert.equal(encode({ [tag]: value }), wire.toUpperCase());
    assert.deepEqual(decode(wire), { [tag]: value });
    assert.equal(nameOf(tag), 'Seven');
  });
}

test('the category in front of the parts of MasterCard is the first part', () => {
  for (const [className, wire] of [
    ['IFMC_TCC', '54'],
    ['IFEMC_TCC', 'e3'],
  ] as const) {
    const inner = `<isofield id="0" length="1" name="Category" class="org.jpos.iso.${className}"/>
      <isofield id="92" length="3" name="CVC2" class="org.jpos.iso.IFMC_LLCHAR"/>`;
    const { field } = nestedField('IFA_LLLBINARY', 'EuroSubFieldPackager', inner);
    const { encode } = compileSubFields(field);
    assert.equal(encode({ '0': 'T', '92': '041' }), `${wire.toUpperCase()}39323033303431`);
  }
});

test('packagers of sub-fields are positions, bitmaps, separated texts, BER-TLV or data sets', () => {
  const positions = nestedField(
    'IFA_LLLCHAR',
    'GenericSubFieldPackager',
    `<isofield id="0" length="2" name="Zero" class="org.jpos.iso.IFA_NUMERIC"/>
     <isofield id="1" length="4" name="One" class="org.jpos.iso.IFA_NUMERIC"/>
     <isofield id="2" length="9" name="Two" class="org.jpos.iso.IFA_LLCHAR"/>`,
  );
  assert.equal(positions.field.content, 'ans');
  assert.equal(compileSubFields(positions.field).encode({ '1': '0042', '2': 'AB' }), '004202AB');

  const bitmap = `<isofield id="1" length="8" name="Bitmap" class="org.jpos.iso.IFB_BITMAP"/>
    <isofield id="3" length="9" name="Three" class="org.jpos.iso.IFA_LLCHAR"/>`;
  const postilion = nestedField('IFA_LLLLLLBINARY', 'GenericSubFieldPackager', bitmap);
  assert.equal(compileSubFields(postilion.field).encode({ '3': 'AB' }), '200000000000000030324142');

  // A binary bitmap inside a field of ASCII characters makes it a field of bytes.
  const bytes = nestedField('IFA_LLLCHAR', 'Base1SubFieldPackager', bitmap);
  assert.equal(bytes.field.content, 'b');

  const token = `<isofield id="1" length="9" name="One" token="|" class="org.jpos.iso.IF_TCHAR"/>
    <isofield id="2" length="9" name="Two" token="|" class="org.jpos.iso.IF_TCHAR"/>`;
  const separated = nestedField('IFA_LLLCHAR', 'GenericSubFieldPackager', token);
  assert.equal(compileSubFields(separated.field).encode({ '1': 'A', '2': 'B' }), 'A|B|');

  const chip = nestedField('IFB_LLLBINARY', 'ICCDataPackager', '');
  assert.equal(compileSubFields(chip.field).encode({ '9F36': '0001' }), '9F36020001');

  const sets = nestedField(
    'IFB_LLLBINARY',
    'DatasetPackager',
    '<isofield id="1" length="99" name="First" class="org.jpos.iso.IFB_BINARY"/>',
  );
  assert.equal(compileSubFields(sets.field).encode({ '01': 'CAFE' }), '010002CAFE');
});

test('a length beyond its digits is cut and listed, and field 65 is left out', () => {
  const xml = `<isopackager>
    <isofield id="56" length="255" name="Long" class="org.jpos.iso.IFB_LLCHAR"/>
    <isofield id="65" length="1" name="Bitmap" class="org.jpos.iso.IFB_BINARY"/></isopackager>`;
  const { table, report } = convertPackager(readPackager('x.xml', xml), importOptions);
  const { fields } = table['messages'] as { fields: Record<string, { max: number }> };
  assert.equal(fields['56']?.max, 99);
  assert.equal(fields['65'], undefined);
  assert.deepEqual(
    report.openItems.map(({ line, subject }) => [line, subject]),
    [[2, 'field 56']],
  );
});

test('digits as characters have the content of the base, because jPOS does not check them', () => {
  const xml = `<isopackager>
    <isofield id="35" length="37" name="Track 2" class="org.jpos.iso.IFA_LLNUM"/>
    <isofield id="48" length="99" name="Data" class="org.jpos.iso.IFA_LLNUM"/>
    <isofield id="49" length="3" name="Currency" class="org.jpos.iso.IFB_NUMERIC"/></isopackager>`;
  const { table } = convertPackager(readPackager('x.xml', xml), importOptions);
  const { fields } = table['messages'] as { fields: Record<string, { content: string }> };
  const contents = ['35', '48', '49'].map((field) => fields[field]?.content);
  assert.deepEqual(contents, ['z', 'ans', 'n']);
});

test('a class without a documented format is listed with its line', () => {
  const inner = `
    <isofield id="2" length="9" name="Own" class="com.example.OwnField"/>`;
  const custom = nestedField('IFA_LLLCHAR', 'GenericSubFieldPackager', inner);
  assert.deepEqual(custom.report.openItems, [
    {
      line: 4,
      subject: 'field 60.2',
      reason:
        'the class com.example.OwnField is not one of jPOS with a documented format; describe the field by hand',
    },
  ]);
  const packager = nestedField('IFA_LLLCHAR', 'CTCSubFieldPackager', inner);
  assert.match(packager.report.openItems[0]?.reason ?? '', /the packager CTCSubFieldPackager/);
  const ebcdic = nestedField(
    'IFE_LLLCHAR',
    'GenericSubFieldPackager',
    '<isofield id="1" length="2" name="One" class="org.jpos.iso.IFB_BINARY"/>',
  );
  assert.match(ebcdic.report.openItems[0]?.reason ?? '', /bytes inside a field of EBCDIC/);
});

test('all classes of fields have a format, and no other class has', () => {
  const tested = [...cases, ...taggedCases].map(([className]) => className);
  const others = [...Object.keys(bitmapClasses), ...leadClasses.keys(), 'IF_UNUSED', 'IF_TCHAR'];
  const documented = [...new Set([...tested, ...others])].filter((name) => /^IF/.test(name));
  // jPOS 3 has these classes and the abstract IF_TBASE.
  assert.equal(documented.length, 105);
  const attributes = { length: 4, pad: false, inclusive: false };
  assert.equal(formatOfClass('com.example.OwnField', attributes), undefined);
  assert.equal(taggedClass('IF_CHAR'), undefined);
});
