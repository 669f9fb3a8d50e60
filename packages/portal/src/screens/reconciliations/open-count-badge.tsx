/** The number of open decisions. */
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useFormats } from '../../session/use-session.ts';

export function OpenCountBadge({ open }: { readonly open: number }) {
  const formats = useFormats();
  return (
    <StateBadge state="" tone={open === 0 ? 'good' : 'warn'}>
      {formats.number(open)}
    </StateBadge>
  );
}
