${tonumber(upper(s))}
