/** How much is left to decide: nothing is good news. */
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useFormats } from '../../session/use-session.ts';

export function OpenCount({ open }: { readonly open: number }) {
  const formats = useFormats();
  return (
    <StateBadge state="" tone={open === 0 ? 'good' : 'warn'}>
      {formats.number(open)}
    </StateBadge>
  );
}
