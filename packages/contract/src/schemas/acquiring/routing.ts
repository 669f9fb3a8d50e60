/** The sales that an acquirer contract accepts, and its share of them. */
import { Type } from 'typebox';
import { closed } from '../values-and-problems/resource-schemas.ts';

const rulesMax = 20;

const bound = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 999_999_999_999, description });

const rule = closed(
  {
    schemes: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z]{2,20}$' }), {
        minItems: 1,
        maxItems: 20,
        uniqueItems: true,
        description: 'The schemes of the cards, as a sale shows them; any when left out.',
        examples: [['Visa', 'Mastercard']],
      }),
    ),
    currencies: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Z]{3}$' }), {
        minItems: 1,
        maxItems: 50,
        uniqueItems: true,
        description: 'The currencies (ISO 4217); any when left out.',
      }),
    ),
    amountFrom: Type.Optional(bound('The least amount, minor units.')),
    amountTo: Type.Optional(bound('The highest amount, minor units.')),
    weight: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 100,
        description: 'The share of sales among all matching contracts; 0 means fallback only.',
      }),
    ),
  },
  'A rule: a sale must match all of its fields. Amounts are minor units of its one currency.',
);

export const routing = Type.Array(rule, {
  maxItems: rulesMax,
  description:
    'The sales that this contract processes; the first matching rule gives the weight. Without rules: all sales that match no rule of another contract.',
});
